import type { Namespace } from '../../core/namespaces/namespace.ts'
import { type ActingWindow, type WindowEffect, windowEffects } from '../../core/settings/announcements.ts'
import { ServiceError } from '../../errors.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { instantOf, millisecondAfter, nextChange, type Window, windowAt, windowsOf } from './active-window.ts'
import type { Lineages, Stamp } from './lineages.ts'
import type { Instant, Message } from './message.ts'
import type { MessageStore } from './message-store.ts'
import { printable } from './window-notice.ts'

type Parts = {
  readonly lineages: Lineages
  readonly messages: Pick<MessageStore, 'listOf'>
  readonly log: { readonly error: LogLine }
}

type Snapshot = Stamp & { readonly windows: readonly ActingWindow[] }

/** After that, messages that could not be read are read again, in milliseconds. */
const readAgainMs = 60_000

/**
 * What the active messages of a namespace and of all above it do. A look at what is in memory unless something has
 * changed. docs/contract/message-windows.md#effects
 */
export class ActingWindows {
  readonly #parts: Parts
  readonly #snapshots = new Cache<Snapshot>({ name: 'acting windows', most: 10_000 })

  constructor(parts: Parts) {
    this.#parts = parts
  }

  of(namespace: Namespace): readonly ActingWindow[] | Promise<readonly ActingWindow[]> {
    const known = this.#snapshots.get(namespace.id)
    return known !== undefined && this.#parts.lineages.isCurrent(known)
      ? known.windows
      : this.#take(namespace)
  }

  async #take(namespace: Namespace): Promise<readonly ActingWindow[]> {
    const stamp = this.#parts.lineages.stamp(namespace)
    const lists = await Promise.all(stamp.lineage.map((id) => this.#actingOf(id)))
    const now = instantOf(stamp.madeAtMs)
    const acting = lists.flatMap((messages) => messages ?? [])
    const change = millisecondAfter(
      nextChange(
        acting.flatMap((message) => windowsOf(message, now)),
        now,
      ),
    )
    const windows = windowEffects.flatMap((effect) =>
      lastFirst(
        stamp.lineage.flatMap((namespace, index) =>
          lastFirst((lists[index] ?? []).flatMap(actingNow(effect, now, namespace))).slice(0, 1),
        ),
      ),
    )
    const endsAtMs = lists.includes(undefined) ? Math.min(change, stamp.madeAtMs + readAgainMs) : change
    this.#snapshots.set(namespace.id, { ...stamp, endsAtMs, windows })
    return windows
  }

  /** The messages with an effect. A message that cannot be read must not stop every write: undefined. */
  async #actingOf(namespaceId: string): Promise<readonly Message[] | undefined> {
    const { messages, log } = this.#parts
    try {
      return (await messages.listOf(namespaceId)).filter(({ effect }) => effect !== undefined)
    } catch (err) {
      if (!(err instanceof ServiceError) || err.kind !== 'internal') throw err
      log.error(
        { event: 'record_unreadable', err, namespace: namespaceId },
        'could not read the messages of a namespace: they have no effect',
      )
      return undefined
    }
  }
}

/** The windows of a message that has this effect now. */
const actingNow =
  (effect: WindowEffect, now: Instant, namespace: string) =>
  (message: Message): ActingWindow[] => {
    const window = message.effect === effect ? windowAt(message, now) : undefined
    if (window === undefined) return []
    return [{ effect, namespace, title: printable(message.title), endsAt: endOf(window) }]
  }

const endOf = ({ end }: Window): number | undefined => (end === undefined ? undefined : millisecondAfter(end))

const lastFirst = (windows: readonly ActingWindow[]): readonly ActingWindow[] =>
  windows.toSorted(
    (one, other) =>
      (other.endsAt ?? Number.POSITIVE_INFINITY) - (one.endsAt ?? Number.POSITIVE_INFINITY) || 0,
  )
