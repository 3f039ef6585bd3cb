import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { MountState, ReadyUpstream } from './mount-state.ts'
import { callerError, UpstreamError, type UpstreamCall } from './upstream/index.ts'

/** What one piece of work upstream is done with. */
export type UpstreamWork = {
  readonly state: MountState
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
  readonly clock: Clock
  readonly random: Random
  /** Sent with each application that is made; undefined: none. */
  readonly serviceManagementReference: string | undefined
}

/** The same, for a credential. */
export type IssueWork = UpstreamWork & {
  /** Seconds for which the secret is to work upstream. */
  readonly secretSeconds: number
}

/** A request upstream ends before the caller's own. docs/contract/cloud.md#upstream-names */
const requestMs = 80_000
const mostAtOnce = 4

/** What the calls of one request are told. */
export const callWithin = (clock: Clock, correlationId: string, signal?: AbortSignal): UpstreamCall => ({
  deadline: clock.now() + requestMs,
  correlationId,
  ...(signal === undefined ? {} : { signal }),
})

/**
 * What comes of it; a failure upstream becomes the caller's, with `text` in front.
 * docs/contract/cloud.md#service-principals
 */
export async function orRefuse<T>(text: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof UpstreamError ? callerError(error, text) : error
  }
}

/**
 * Does `work` for each item, four at a time, and waits for all of it; then throws the first failure there
 * was.
 */
export async function forEachOf<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = []
  const left = items.entries()
  const worker = async () => {
    for (const [index, item] of left) {
      try {
        await work(item, index)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, items.length) }, worker))
  if (failures.length > 0) throw failures[0]
}
