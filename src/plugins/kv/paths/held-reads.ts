import type { Mount } from '../../../core/mounts/mount.ts'
import type { Core } from '../../../core/open/core.ts'
import type { HeldRead, Waits } from '../../../core/servers/waits.ts'
import { fail, refuse } from '../../../errors.ts'
import type { Exchange } from '../../../http/resource/resource.ts'
import { plainReadings } from './access.ts'

export type HeldParts = Pick<Core, 'access' | 'mounts' | 'namespaces' | 'clock' | 'confirmCopies'> & {
  readonly waits: Waits
  isSealed(): boolean
}

type HeldKey<T> = Pick<HeldRead<T>, 'waitMs' | 'load' | 'isKnown'> & {
  readonly exchange: Exchange<unknown, { path: string }>
  /** When it changes without a write, in milliseconds since the epoch. */
  changesAtMs(loaded: T): number
}

/** What nobody reports, such as a right that was lost, is found within this time. */
const checkMs = 1_000

/** Reads that began together, or were woken together, are not checked together for long. */
const nextCheckMs = (): number => checkMs * (0.5 + Math.random() / 2)

export const topicOf = ({ uuid }: Pick<Mount, 'uuid'>, path: string): string => `${uuid}/${path}`

/** Holds a read until its key changes or the wait ends. docs/contract/kv.md#conditional-calls */
export function nextState<T>(
  parts: HeldParts,
  { exchange, changesAtMs, ...read }: HeldKey<T>,
  first: T,
): Promise<T> {
  const { call, mount, params, whenSilent } = exchange
  const held = {
    ...read,
    address: call.remoteAddress,
    topics: [topicOf(mount, params.path)],
    what: 'secrets' as const,
    whenSilent,
    setAside: call.setAside,
    pauseMs: (last: T) => Math.min(nextCheckMs(), changesAtMs(last) - parts.clock.now()),
    check: async () => {
      await parts.confirmCopies()
      await checkServed(parts, exchange)
    },
  }
  return parts.waits.hold(held, first)
}

/** Repeats the checks of the request, because the state may have changed while it was held. */
async function checkServed(
  { isSealed, mounts, namespaces, access }: HeldParts,
  { call, mount, caller: before }: HeldKey<unknown>['exchange'],
): Promise<void> {
  if (isSealed()) throw refuse('sealed', 'Vault is sealed')
  const now = mounts.table.byUuid(mount.uuid)
  const isThere =
    now?.path === mount.path && !now.tainted && now.moving === undefined && namespaces.isLive(mount.namespace)
  if (!isThere) throw fail('missing', 'the mount no longer exists')
  if (before === undefined) throw new Error('a read was held without a caller')
  const caller = await access.recognizeAgain(before, call.remoteAddress, call.namespace)
  const { allowed } = caller.acl.decide({
    operation: 'read',
    path: call.path,
    fields: call.sent,
    readings: plainReadings,
  })
  if (!allowed) throw fail('denied', 'permission denied')
}
