import { readPages } from '../../lib/data/pages.ts'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import { ifReadable } from '../records/stored-record.ts'

/** So few that other requests hardly wait for them, and that large ones fit into memory. */
const atOnce = 10

/**
 * Moves the records under a prefix, whose keys have names in clear because an earlier version wrote them. `moved`
 * returns what replaces a record; undefined: this one and those behind it are not of that version. A record that
 * cannot be decrypted stays, and the log names it. Several servers may do it at a time, and a run after a crash
 * completes it. Returns the number of moved records.
 */
export async function moveRecords(
  view: View,
  prefix: string,
  moved: (record: ViewRecord) => ViewEntry | undefined,
): Promise<number> {
  let count = 0
  const pages = readPages(
    (range) => view.listKeys(prefix, range),
    (key) => key,
    { size: atOnce },
  )
  for await (const keys of pages) {
    let found: ViewRecord[]
    let batch: ViewEntry[]
    do {
      const records = await Promise.all(keys.map((key) => ifReadable(view.read(key))))
      found = records.filter((record) => record !== undefined)
      batch = found.flatMap((record) => {
        const entry = moved(record)
        const { key, revision: expect } = record
        return entry === undefined ? [] : [{ key, value: undefined, expect }, entry]
      })
    } while (batch.length > 0 && !(await view.write(batch)))
    count += batch.length / 2
    if (batch.length < 2 * found.length) break
  }
  return count
}
