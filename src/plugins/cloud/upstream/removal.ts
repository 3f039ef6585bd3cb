import type { Clock } from '../../../lib/system/clock.ts'
import { classify } from './classification.ts'
import { UpstreamError } from './upstream-error.ts'

export const isGone = (error: unknown): boolean =>
  error instanceof UpstreamError && ['gone', 'done'].includes(classify(error).kind)

/** While an object is younger than this, "not found" may mean that some replicas do not know it yet. */
const youthMs = 600_000

export const isNewObject = (since: number, clock: Clock): boolean => clock.now() - since < youthMs

/** True once the object is removed, false if it did not exist. Throws every other failure. */
export async function wasRemoved(removal: Promise<void>): Promise<boolean> {
  try {
    await removal
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    return false
  }
}

/** Undefined if the object does not exist. Throws every other failure. */
export async function unlessGone<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!isGone(error)) throw error
    return undefined
  }
}
