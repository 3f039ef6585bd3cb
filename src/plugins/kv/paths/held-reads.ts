import type { Access } from '../../../core/access.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { MountStore } from '../../../core/mounts/mount-store.ts'
import type { NamespaceStore } from '../../../core/namespaces/namespace-store.ts'
import type { Waits } from '../../../core/servers/waits.ts'
import { fail, refuse } from '../../../errors.ts'
import type { Exchange } from '../../../http/resource/resource.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { plainReadings } from './access.ts'

export type HeldParts = {
  readonly waits: Waits
  readonly access: Pick<Access, 'recognize'>
  readonly mounts: Pick<MountStore, 'table'>
  readonly namespaces: Pick<NamespaceStore, 'isLive'>
  readonly clock: Clock
  isSealed(): boolean
  /** Resolves once what this server has copied is current. */
  confirmCopies(): Promise<void>
}

/** A read that waits for another state of its key. */
export type HeldRead<T> = {
  readonly exchange: Exchange<unknown, { path: string }>
  readonly waitMs: number
  /** Reads again. */
  load(): Promise<T>
  /** Whether the client knows this state. */
  isKnown(loaded: T): boolean
  /** When it changes without a write, in milliseconds since the epoch. */
  changesAtMs(loaded: T): number
}

/** What nobody reports, such as a right that was lost, is found within this time. */
const checkMs = 1_000

/** Reads that began together, or were woken together, are not checked together for long. */
const nextCheckMs = (): number => checkMs * (0.5 + Math.random() / 2)

/** What the waits of a key are called. */
export const topicOf = ({ uuid }: Pick<Mount, 'uuid'>, path: string): string => `${uuid}/${path}`

/** Holds a read until its key changes or the wait ends. docs/contract/kv.md#conditional-calls */
export async function nextState<T>(parts: HeldParts, held: HeldRead<T>, first: T): Promise<T> {
  const { call, mount, params, whenSilent } = held.exchange
  const topics = [topicOf(mount, params.path)]
  using wait = parts.waits.begin({ address: call.remoteAddress, topics, waitMs: held.waitMs })
  if (wait === undefined)
    throw refuse('throttled', 'too many requests of this address are waiting for secrets')
  const unwatch = whenSilent(() => wait.end())
  const resume = call.setAside?.()
  try {
    for (let last = first; ; ) {
      await wait.pause(Math.max(1, Math.min(nextCheckMs(), held.changesAtMs(last) - parts.clock.now())))
      await parts.confirmCopies()
      await checkServed(parts, held.exchange)
      last = await held.load()
      if (!held.isKnown(last) || wait.hasEnded) return last
    }
  } finally {
    resume?.()
    unwatch()
  }
}

/** Repeats the checks of the request, because the state may have changed while it was held. */
async function checkServed(
  { isSealed, mounts, namespaces, access }: HeldParts,
  { call, mount, presented }: HeldRead<unknown>['exchange'],
): Promise<void> {
  if (isSealed()) throw refuse('sealed', 'Vault is sealed')
  const now = mounts.table.byUuid(mount.uuid)
  const isThere =
    now?.path === mount.path && !now.tainted && now.moving === undefined && namespaces.isLive(mount.namespace)
  if (!isThere) throw fail('missing', 'the mount no longer exists')
  const caller = await access.recognize(presented(), call.remoteAddress, call.namespace)
  const { allowed } = caller.acl.decide({
    operation: 'read',
    path: call.path,
    fields: call.sent,
    readings: plainReadings,
  })
  if (!allowed) throw fail('denied', 'permission denied')
}
