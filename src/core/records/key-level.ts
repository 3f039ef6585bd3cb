import { readPages } from '../../lib/data/pages.ts'
import type { View } from '../barrier/view.ts'

/** Sorts after every character of a path, so a folder plus this sorts after all keys of the folder. */
const last = '\u{10ffff}'

/**
 * The sorted names directly below a prefix. A folder is one name that ends in `/`; the walk skips the rest of
 * its keys when it fills a page.
 */
export async function levelOf(view: Pick<View, 'listKeys'>, prefix: string): Promise<string[]> {
  const nameOf = (key: string): string => {
    const slash = key.indexOf('/', prefix.length)
    return key.slice(prefix.length, slash < 0 ? undefined : slash + 1)
  }
  const placeOf = (key: string): string => {
    const name = nameOf(key)
    return name.endsWith('/') ? prefix + name + last : key
  }
  const names: string[] = []
  for await (const page of readPages((range) => view.listKeys(prefix, range), placeOf))
    for (const key of page) {
      const name = nameOf(key)
      if (name !== names.at(-1)) names.push(name)
    }
  return names
}
