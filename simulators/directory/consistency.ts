import type { Delays } from './settings.ts'

/** The view of one replica: its number, the number of replicas, the time, and the replication delays. */
export type View = {
  readonly now: number
  readonly replica: number
  readonly replicas: number
  readonly delays: Delays
}

/** The creation and deletion times of an object, in milliseconds since the epoch. */
export type Lived = { createdAt: number; deletedAt?: number | undefined }

/**
 * Whether a change at `since` has reached this replica. It reaches the replicas in turn, the last one after
 * the whole delay.
 */
export function hasHeard(view: View, since: number, delay: keyof Delays): boolean {
  return view.now >= since + (view.delays[delay] * 1000 * (view.replica + 1)) / view.replicas
}

/** Whether the object exists in the view of this replica. */
export function isSeen(view: View, { createdAt, deletedAt }: Lived, delay: keyof Delays): boolean {
  return hasHeard(view, createdAt, delay) && (deletedAt === undefined || !hasHeard(view, deletedAt, delay))
}

/** The objects that exist in the view of this replica. */
export const seenOf = <T extends Lived>(view: View, things: readonly T[], delay: keyof Delays): T[] =>
  things.filter((thing) => isSeen(view, thing, delay))

/** The time of deletion in the view of this replica; null if it is not deleted. */
export const deletionSeen = (view: View, { deletedAt }: Lived, delay: keyof Delays): string | null =>
  deletedAt === undefined || !hasHeard(view, deletedAt, delay) ? null : new Date(deletedAt).toISOString()
