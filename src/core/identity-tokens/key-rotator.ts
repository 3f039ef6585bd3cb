import type { Clock } from '../../lib/system/clock.ts'
import type { View } from '../barrier/view.ts'
import { Periodic, type Timing } from '../jobs/background.ts'
import { dueRotations, readDueKey } from './issuer-keys.ts'
import type { NamedKeyStore } from './named-key-store.ts'

export type KeyRotatorParts = Timing & {
  /** The root of everything stored. */
  readonly root: View
  readonly keys: Pick<NamedKeyStore, 'rotateDue'>
  readonly clock: Clock
}

/**
 * Rotates keys whose period is over, one after the other; a run gives their number. A key that missed several
 * rotations while the server was stopped is rotated once, and its next period begins then.
 */
export const keyRotator = (parts: KeyRotatorParts): Periodic<number> =>
  new Periodic({ ...parts, run: (stopping) => rotateDue(parts, stopping) })

async function rotateDue(
  { root, keys, clock, onError }: KeyRotatorParts,
  stopping: AbortSignal,
): Promise<number> {
  let count = 0
  for await (const page of root.keyPages(dueRotations))
    for (const key of page) {
      const due = readDueKey(key)
      if (stopping.aborted || (due !== undefined && due.at > clock.now())) return count
      if (due === undefined) continue
      try {
        if (await keys.rotateDue(due)) count++
      } catch (error) {
        onError(error)
      }
    }
  return count
}
