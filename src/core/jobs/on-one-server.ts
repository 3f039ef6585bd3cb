import { setTimeout as pause } from 'node:timers/promises'
import type { Storage } from '../../storage/storage.ts'

/** A server that was killed in the middle of the work is not waited for longer. */
const holdMs = 15_000
const checkMs = 100

/** The creation of the store and the delivery of its root token: the server that does one does the other. */
export const firstStart = 'first-start'

export type StartWork = {
  readonly name: string
  /** Whether the work is still to be done. */
  isNeeded(): Promise<boolean>
}

/**
 * Does work that a start must find done. If several servers that share the storage start, one does it and the
 * others wait for it. docs/replicas.md#first-start
 */
export async function onOneServer(
  { shared }: Pick<Storage, 'shared'>,
  { name, isNeeded }: StartWork,
  work: () => Promise<void>,
): Promise<void> {
  while (await isNeeded()) {
    if (shared === undefined) return await work()
    const held = await shared.holdJob(name, holdMs)
    if (held === undefined) await pause(checkMs)
    else
      try {
        // it may have been done between the two
        return (await isNeeded()) ? await work() : undefined
      } finally {
        await shared.releaseJob(held)
      }
  }
}
