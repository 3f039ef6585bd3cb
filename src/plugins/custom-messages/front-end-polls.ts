import { z } from 'zod'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { Core } from '../../core/open/core.ts'
import { type Waits, waitField, waitMsOf } from '../../core/servers/waits.ts'
import { refuse } from '../../errors.ts'
import type { Exchange, Reply } from '../../http/resource/resource.ts'
import { namesTag } from '../../lib/net/entity-tag.ts'
import type { Shown } from './shown-messages.ts'

export type PollParts = Pick<Core, 'namespaces' | 'clock' | 'confirmCopies'> & {
  readonly messageWaits: Waits
  isSealed(): boolean
}

export const polled = z.object({ wait: waitField })

type Load = () => Promise<Shown>

export type Poll = {
  readonly exchange: Exchange<z.output<typeof polled>, unknown>
  readonly namespace: Namespace
  readonly load: Load
  /** Loads the messages after a wait; default: `load`. */
  readonly reload?: Load
}

/**
 * Answers a poll. Ignores If-None-Match if the response is to be wrapped, because each wrapped response has
 * its own token. RFC 9110 §13.1.2
 */
export async function answerPoll(parts: PollParts, poll: Poll): Promise<Reply> {
  const { exchange, namespace, load, reload = load } = poll
  const { call, input, header } = exchange
  const known = call.wrapTtl > 0 ? undefined : header('if-none-match')
  const waitMs = waitMsOf(input)
  const first = await load()
  if (!namesTag(known, first.etag)) return replyOf(first)
  if (waitMs <= 0) return notModified(first)
  const last = await nextShown(parts, { first, waitMs, exchange, namespace, load: reload })
  return namesTag(known, last.etag) ? notModified(last) : replyOf(last)
}

/** Holds a request until the messages change or the wait ends. docs/contract/messages.md#waiting */
function nextShown(
  parts: PollParts,
  { first, waitMs, namespace, load, exchange }: Poll & { readonly first: Shown; readonly waitMs: number },
): Promise<Shown> {
  const { messageWaits, namespaces, clock, confirmCopies } = parts
  const { call, whenSilent } = exchange
  const held = {
    address: call.remoteAddress,
    topics: namespaces.lineageOf(namespace).map(({ id }) => id),
    waitMs,
    what: 'messages' as const,
    whenSilent,
    setAside: call.setAside,
    pauseMs: ({ changesAtMs }: Shown) => changesAtMs - clock.now(),
    check: async () => {
      await confirmCopies()
      checkServed(parts, namespace)
    },
    load,
    isKnown: ({ etag }: Shown) => etag === first.etag,
  }
  return messageWaits.hold(held, first)
}

/** Repeats the checks of the request, because the state may have changed while it was held. */
function checkServed({ isSealed, namespaces }: PollParts, namespace: Namespace): void {
  if (isSealed()) throw refuse('sealed', 'Vault is sealed')
  if (!namespaces.isLive(namespace.id)) throw refuse('missing', 'namespace not found')
  const refusal = namespaces.lockRefusal(namespace)
  if (refusal !== undefined) throw refusal
}

const replyOf = ({ text, etag, nextChange }: Shown): Reply => ({
  dataText: text,
  headers: {
    etag,
    'cache-control': 'private, no-cache',
    vary: 'X-Vault-Token, X-Vault-Namespace, Authorization',
    ...(nextChange === undefined ? {} : { 'x-next-change-at': nextChange }),
  },
})

/** A 304 has the headers of the 200. RFC 9110 §15.4.5 */
const notModified = (shown: Shown): Reply => ({ status: 304, headers: replyOf(shown).headers })
