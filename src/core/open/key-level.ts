import type { View } from '../barrier/view.ts'

export type LevelWalk = {
  /** Awaited between two storage pages, so that other work can run. */
  giveWay(): Promise<unknown>
  /** Wraps the names, for example to pace a long walk. */
  paced?(names: AsyncIterable<string>): AsyncIterable<string>
}

const pageSize = 250
/** Sorts after every character of a path, so a folder plus this sorts after all keys of the folder. */
const last = '\u{10ffff}'

/**
 * The sorted names directly below a prefix. A folder is one name that ends in `/`; the walk skips the rest of
 * its keys when it fills a storage page.
 */
export async function levelOf(
  view: View,
  prefix: string,
  { paced = (names) => names, giveWay }: LevelWalk,
): Promise<string[]> {
  return Array.fromAsync(paced(namesOf(view, prefix, giveWay)))
}

async function* namesOf(
  view: View,
  prefix: string,
  giveWay: LevelWalk['giveWay'],
): AsyncGenerator<string, void, undefined> {
  for (let from: string | undefined; ; await giveWay()) {
    const keys = await view.listKeys(prefix, {
      limit: pageSize,
      ...(from === undefined ? {} : { after: from }),
    })
    let folder = ''
    for (const key of keys) {
      if (folder !== '' && key.startsWith(folder)) continue
      const rest = key.slice(prefix.length)
      const slash = rest.indexOf('/')
      const name = slash < 0 ? rest : rest.slice(0, slash + 1)
      folder = slash < 0 ? '' : prefix + name
      yield name
    }
    const end = keys.at(-1)
    if (end === undefined || keys.length < pageSize) return
    from = folder === '' ? end : folder + last
  }
}
