import type { View } from '../../core/barrier/view.ts'
import { atMost } from '../../lib/walks.ts'

export type LevelPage = {
  /** Names come after this one; empty: from the first. */
  readonly after: string
  /** At most so many; 0 is all. */
  readonly limit: number
  /** Lets others work between two pages. */
  giveWay(): Promise<unknown>
  /** The same names, in their time. */
  paced?(names: AsyncIterable<string>): AsyncIterable<string>
}

const pageSize = 1000
/** No path has this character, so it comes after all keys of a folder. */
const last = '\u{10ffff}'

/** The names right below a prefix, sorted; a folder is one name that ends in `/`, whatever is in it, and what is in it is not read through. */
export async function levelOf(view: View, prefix: string, { limit, paced = (names) => names, ...page }: LevelPage): Promise<string[]> {
  return Array.fromAsync(atMost(limit, paced(namesOf(view, prefix, page))))
}

async function* namesOf(
  view: View,
  prefix: string,
  { after, giveWay }: Pick<LevelPage, 'after' | 'giveWay'>,
): AsyncGenerator<string, void, undefined> {
  for (let from = after === '' ? undefined : startAfter(prefix + after); ; await giveWay()) {
    const keys = await view.listKeys(prefix, { limit: pageSize, ...(from === undefined ? {} : { after: from }) })
    let folder = ''
    for (const key of keys) {
      if (folder !== '' && key.startsWith(folder)) continue
      const rest = key.slice(prefix.length)
      const slash = rest.indexOf('/')
      const name = slash < 0 ? rest : rest.slice(0, slash + 1)
      folder = slash < 0 ? '' : prefix + name
      // a start inside of a folder does not name it again
      if (slash >= 0 && after.startsWith(name)) continue
      yield name
    }
    const end = keys.at(-1)
    if (end === undefined || keys.length < pageSize) return
    from = folder === '' ? end : folder + last
  }
}

const startAfter = (key: string): string => (key.endsWith('/') ? key + last : key)
