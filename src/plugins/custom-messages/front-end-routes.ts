import { z } from 'zod'
import type { Access, Caller } from '../../core/access.ts'
import type { IdentityStore } from '../../core/identity/identity-store.ts'
import { type Viewer, viewerOf } from './audience.ts'
import type { MessageStore } from './message-store.ts'
import type { MessageWaits } from './message-waits.ts'
import { nothingShown, type Shown, type ShownMessages } from './shown-messages.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import { fail, refuse } from '../../errors.ts'
import {
  type Exchange,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
  type WrittenReply,
} from '../../http/resource.ts'
import type { Clock } from '../../lib/clock.ts'
import { namesTag } from '../../lib/entity-tag.ts'
import { exactDurationField } from '../../lib/fields.ts'
import { formatTime } from '../../lib/time.ts'
import { messageAnswers } from './answers.ts'
import { saying } from './message-routes.ts'

export type FrontEndParts = {
  /** `community` shows no messages. docs/contract/messages.md#community-edition */
  edition: 'enterprise' | 'community'
  messages: MessageStore
  shownMessages: ShownMessages
  messageWaits: MessageWaits
  access: Pick<Access, 'findCaller'>
  identities: Pick<IdentityStore, 'identityOf'>
  namespaces: Pick<NamespaceStore, 'isLive' | 'lockRefusal' | 'lineOf'>
  clock: Clock
  isSealed(): boolean
}

const longestWaitSeconds = 60

const polled = z.object({
  wait: exactDurationField
    .default(0)
    .describe(
      'With If-None-Match: how long to wait for a change, at most 60 s; as 30s, 1500ms or a number of seconds',
    ),
})

/** The endpoints from which front ends get messages. docs/contract/messages.md#front-ends */
export function frontEndResources(parts: FrontEndParts): Resource[] {
  const { edition, shownMessages, messageWaits, access, identities, messages, clock } = parts
  const isOff = edition === 'community'
  type Polled = Exchange<z.output<typeof polled>, unknown>
  type Look = () => Shown | Promise<Shown>
  return [
    resource('/internal/ui/unauthenticated-messages', {
      prepared: (namespace) => {
        const shown = isOff ? nothingShown : shownMessages.readyBeforeLogin(namespace)
        return shown && replyOf(shown)
      },
      help: 'The active messages to show before login, of the namespace and of all above it.',
      open: true,
      read: {
        summary: 'Read the messages to show before login',
        ...messageAnswers.beforeLogin,
        input: polled,
        handle: (exchange) => {
          const namespace = namespaceOf(exchange.call)
          const look = () => (isOff ? nothingShown : retrieved(shownMessages.beforeLogin(namespace)))
          return conditional(exchange, namespace, look)
        },
      },
    }),
    resource('/internal/ui/authenticated-messages', {
      help: 'The active messages to show after login, of the namespace and of all above it. Any valid token will do; without one the list is empty.',
      caller: 'if-good',
      read: {
        summary: 'Read the messages to show after login',
        ...messageAnswers.afterLogin,
        input: polled,
        handle: (exchange) => {
          const namespace = namespaceOf(exchange.call)
          const shownTo = (caller: Caller | undefined) =>
            caller === undefined || isOff
              ? nothingShown
              : retrieved(shownMessages.afterLogin(namespace, () => viewerBehind(caller)))
          // the token may have expired or been revoked while its request was held
          const lookAgain = async () =>
            shownTo(await access.findCaller(exchange.presented(), exchange.call.remoteAddress, namespace))
          return conditional(exchange, namespace, () => shownTo(exchange.caller), lookAgain)
        },
      },
    }),
    resource('/internal/ui/authenticated-messages/:id/ack', {
      help: 'Record that the entity of the calling token has acknowledged a message it is shown.',
      caller: 'required-inside',
      write: {
        summary: 'Acknowledge a message',
        ...messageAnswers.acknowledge,
        anyFields: true,
        handle: async ({ call, caller, params: { id } }) => {
          const identity = caller?.token.entity_id
            ? await identities.identityOf(caller.token.entity_id)
            : undefined
          if (caller === undefined || identity === undefined)
            throw refuse('invalid', 'acknowledging needs a token with an entity')
          const { entity } = identity
          const owner = isOff
            ? undefined
            : await shownMessages.ownerOf(namespaceOf(call), id, viewerOf(caller.token, identity))
          const taken = { entityId: entity.id, entityName: entity.name, time: formatTime(clock.now()) }
          if (owner === undefined || !(await messages.acknowledge(owner, id, taken)))
            throw fail('missing', 'custom message not found')
          return undefined
        },
      },
    }),
  ]

  async function viewerBehind({ token }: Caller): Promise<Viewer> {
    return viewerOf(token, token.entity_id === '' ? undefined : await identities.identityOf(token.entity_id))
  }

  /**
   * Answers one poll. If-None-Match is ignored when the response is to be wrapped: each wrapped response has
   * a token of its own. RFC 9110 §13.1.2
   */
  function conditional(
    exchange: Polled,
    namespace: Namespace,
    look: Look,
    lookAgain = look,
  ): Reply | Promise<Reply> {
    const { call, input, header } = exchange
    const known = call.wrapTtl > 0 ? undefined : header('if-none-match')
    const waitMs = Math.min(input.wait, longestWaitSeconds) * 1000
    const answer = (shown: Shown): Reply | Promise<Reply> => {
      if (!namesTag(known, shown.etag)) return replyOf(shown)
      return waitMs > 0 ? held(shown) : notModified(shown)
    }
    const held = async (first: Shown): Promise<Reply> => {
      const last = await nextShown({ first, waitMs, exchange, namespace, look: lookAgain })
      return namesTag(known, last.etag) ? notModified(last) : replyOf(last)
    }
    const shown = look()
    return shown instanceof Promise ? shown.then(answer) : answer(shown)
  }

  /** Holds a request until the shown messages change or its time is up. docs/contract/messages.md#waiting */
  async function nextShown(held: {
    first: Shown
    waitMs: number
    exchange: Polled
    namespace: Namespace
    look: Look
  }): Promise<Shown> {
    const { first, waitMs, namespace, look } = held
    const { call, whenSilent } = held.exchange
    const line = parts.namespaces.lineOf(namespace).map(({ id }) => id)
    using wait = messageWaits.begin({ address: call.remoteAddress, namespaces: line, waitMs })
    if (wait === undefined)
      throw refuse('throttled', 'too many requests of this address are waiting for messages')
    // a client that closes its sending side gets its response at once
    const unwatch = whenSilent(() => wait.end())
    const goOn = call.setAside?.()
    try {
      for (let last = first; ; ) {
        await wait.pause(Math.max(1, last.changesAtMs - clock.now()))
        checkServed(namespace)
        last = await look()
        if (last.etag !== first.etag || wait.isOver) return last
      }
    } finally {
      goOn?.()
      unwatch()
    }
  }

  /** Repeats the checks made when the request arrived: the state may have changed while it was held. */
  function checkServed(namespace: Namespace): void {
    if (parts.isSealed()) throw refuse('sealed', 'Vault is sealed')
    if (!parts.namespaces.isLive(namespace.id)) throw refuse('missing', 'namespace not found')
    const refusal = parts.namespaces.lockRefusal(namespace)
    if (refusal !== undefined) throw refusal
  }
}

const retrieved = (shown: Shown | Promise<Shown>): Shown | Promise<Shown> =>
  shown instanceof Promise ? saying('failed to retrieve custom messages', () => shown) : shown

/** The response for each `Shown`, built once. */
const replyBy = new WeakMap<Shown, WrittenReply>()

function replyOf(shown: Shown): WrittenReply {
  const known = replyBy.get(shown)
  if (known !== undefined) return known
  const headers = {
    etag: shown.etag,
    'cache-control': 'private, no-cache',
    vary: 'X-Vault-Token, X-Vault-Namespace, Authorization',
    ...(shown.nextChange === undefined ? {} : { 'x-next-change-at': shown.nextChange }),
  }
  const reply = { dataText: shown.text, headers }
  replyBy.set(shown, reply)
  return reply
}

/** A 304 has the headers of the 200. RFC 9110 §15.4.5 */
const notModified = (shown: Shown): Reply => ({ status: 304, headers: replyOf(shown).headers })
