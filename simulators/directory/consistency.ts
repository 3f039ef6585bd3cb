import type { Delays } from './settings.ts'

/** What one replica is asked from: its number, how many there are, the time, and how slow news travels. */
export type View = { readonly now: number; readonly replica: number; readonly replicas: number; readonly delays: Delays }

/** Anything that comes into being and may go, in milliseconds since the epoch. */
export type Lived = { createdAt: number; deletedAt?: number | undefined }

/** Whether this replica has heard of what happened at `since`: the first after its share of the delay, the last after the whole. */
export function hasHeard(view: View, since: number, delay: keyof Delays): boolean {
  return view.now >= since + (view.delays[delay] * 1000 * (view.replica + 1)) / view.replicas
}

/** Whether the thing is there as far as this replica knows. */
export function isSeen(view: View, { createdAt, deletedAt }: Lived, delay: keyof Delays): boolean {
  return hasHeard(view, createdAt, delay) && (deletedAt === undefined || !hasHeard(view, deletedAt, delay))
}

/** Those of the things that are there as far as this replica knows. */
export const seenOf = <T extends Lived>(view: View, things: readonly T[], delay: keyof Delays): T[] =>
  things.filter((thing) => isSeen(view, thing, delay))

/** When it was deleted, as far as this replica knows. */
export const deletionSeen = (view: View, { deletedAt }: Lived, delay: keyof Delays): string | null =>
  deletedAt === undefined || !hasHeard(view, deletedAt, delay) ? null : new Date(deletedAt).toISOString()
