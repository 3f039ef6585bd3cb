import { readPages } from '../../lib/data/pages.ts'
import type { View } from '../barrier/view.ts'

/** Sorts after every character of a path, so a folder plus this sorts after all keys of the folder. */
const last = '\u{10ffff}'

type Keys = Pick<View, 'listKeys'>

/** Sorts after every key with this prefix: no path contains this noncharacter. */
export const behind = (prefix: string): string => prefix + last

/** A part of a list: at most `limit` names (0: no limit) after the name `after`. */
export type NamePage = { readonly after: string; readonly limit: number }

/**
 * The sorted names directly below a prefix. A folder is one name that ends in `/`; the walk skips the rest of
 * its keys when it fills a page. May return more names than `limit`.
 */
export async function levelOf(
  view: Keys,
  prefix: string,
  { after, limit }: NamePage = { after: '', limit: 0 },
): Promise<string[]> {
  const nameOf = (key: string): string => {
    const slash = key.indexOf('/', prefix.length)
    return key.slice(prefix.length, slash < 0 ? undefined : slash + 1)
  }
  const placeOf = (key: string): string => {
    const name = nameOf(key)
    return name.endsWith('/') ? behind(prefix + name) : key
  }
  const names: string[] = []
  const start = after === '' ? undefined : placeOf(prefix + after)
  for await (const page of readPages((range) => view.listKeys(prefix, range), placeOf, { after: start })) {
    for (const key of page) {
      const name = nameOf(key)
      if (name !== names.at(-1)) names.push(name)
    }
    if (limit > 0 && names.length >= limit) break
  }
  return names
}

/** The folders directly below a prefix, each with its first key. Reads one key of each. */
export async function* foldersOf(
  view: Keys,
  prefix: string,
): AsyncGenerator<{ readonly name: string; readonly key: string }, void, undefined> {
  const nameOf = (key: string): string => key.slice(prefix.length, key.indexOf('/', prefix.length))
  const placeOf = (key: string): string => behind(`${prefix}${nameOf(key)}/`)
  const pages = readPages((range) => view.listKeys(prefix, range), placeOf, { size: 1 })
  for await (const page of pages) for (const key of page) yield { name: nameOf(key), key }
}
