import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import { isUnreadable } from '../records/stored-record.ts'

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
  for (let after: string | undefined; ; await nextTurn()) {
    const keys: string[] = await view.listKeys(prefix, {
      limit: atOnce,
      ...(after !== undefined && { after }),
    })
    const records = await Promise.all(keys.map((key) => readable(view, key)))
    const found = records.filter((record) => record !== undefined)
    const batch = found.flatMap((record) => {
      const entry = moved(record)
      const { key, revision: expect } = record
      return entry === undefined ? [] : [{ key, value: undefined, expect }, entry]
    })
    if (batch.length > 0 && !(await view.write(batch))) continue
    count += batch.length / 2
    after = keys.at(-1)
    if (after === undefined || batch.length < 2 * found.length) return count
  }
}

async function readable(view: View, key: string): Promise<ViewRecord | undefined> {
  try {
    return await view.read(key)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return undefined
  }
}
