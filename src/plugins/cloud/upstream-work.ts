import type { MountTokens } from '../../core/identity-tokens/mount-tokens.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { Limiter } from '../../lib/concurrency/limiter.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { MountState, ReadyUpstream } from './mount-state.ts'
import type { LeaseLookup } from './records/credential-record.ts'
import { callerError, type UpstreamCall, UpstreamError } from './upstream/index.ts'

export type UpstreamWork = {
  readonly state: MountState
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
  readonly clock: Clock
  readonly random: Random
}

/** For a role: the upstream client is opened once the role's lock is held. */
export type RoleWork = Omit<UpstreamWork, 'upstream'> & {
  readonly mount: Mount
  readonly mountTokens: Pick<MountTokens, 'check' | 'identityOf'>
  readonly leases: LeaseLookup
}

export type RotationWork = Omit<UpstreamWork, 'upstream'>

export type IssueWork = UpstreamWork & {
  readonly mount: Mount
  /** How many seconds the secret works upstream. */
  readonly secretSeconds: number
}

/** The upstream calls of a request must end before the request itself does. */
const requestMs = 80_000
const maxConcurrent = 4

export const callWithin = (clock: Clock, correlationId: string, signal?: AbortSignal): UpstreamCall => ({
  deadline: clock.now() + requestMs,
  correlationId,
  signal,
})

/**
 * Turns a failure upstream into the caller's error, prefixed with `text`. docs/contract/cloud.md#service-principals
 */
export async function orRefuse<T>(text: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof UpstreamError ? callerError(error, text) : error
  }
}

/** Runs `work` for each item, four at a time, and waits for all. Then throws the first failure, if any. */
export async function forEachOf<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  const limiter = new Limiter(maxConcurrent)
  const failures: unknown[] = []
  const keep = (error: unknown) => failures.push(error)
  await Promise.all(items.map((item, index) => limiter.run(() => work(item, index)).catch(keep)))
  if (failures.length > 0) throw failures[0]
}

/** The items of which `is` is true, asked like `forEachOf`, in the order of the answers. */
export async function filterOf<Item>(
  items: readonly Item[],
  is: (item: Item) => Promise<boolean>,
): Promise<Item[]> {
  const found: Item[] = []
  await forEachOf(items, async (item) => {
    if (await is(item)) found.push(item)
  })
  return found
}
