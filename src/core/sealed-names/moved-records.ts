import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'

/** So few that other requests hardly wait for them. */
const atOnce = 50

/**
 * Moves the records under a prefix, whose keys have names in clear because an earlier version wrote them. `moved`
 * returns what replaces a record; undefined: this one and those behind it are not of that version. Several servers may
 * do it at a time, and a run after a crash completes it. Returns the number of moved records.
 */
export async function moveRecords(
  view: View,
  prefix: string,
  moved: (record: ViewRecord) => ViewEntry | undefined,
): Promise<number> {
  for (let count = 0; ; await nextTurn()) {
    const records = await view.list(prefix, { limit: atOnce })
    const batch = records.flatMap((record) => {
      const entry = moved(record)
      const { key, revision: expect } = record
      return entry === undefined ? [] : [{ key, value: undefined, expect }, entry]
    })
    if (batch.length === 0) return count
    if (await view.write(batch)) count += batch.length / 2
  }
}
