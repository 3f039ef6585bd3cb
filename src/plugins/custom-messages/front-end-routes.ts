import type { Access, Caller } from '../../core/callers/access.ts'
import type { IdentityStore } from '../../core/identity/entities/identity-store.ts'
import { fail, refuse } from '../../errors.ts'
import { namespaceOf, type Resource, resource } from '../../http/resource/resource.ts'
import { formatTime } from '../../lib/text/time.ts'
import { messageAnswers } from './answers.ts'
import { type Viewer, viewerOf } from './audience.ts'
import { answerPoll, type PollParts, polled } from './front-end-polls.ts'
import { saying } from './message-routes.ts'
import type { MessageStore } from './message-store.ts'
import { nothingShown, type Shown, type ShownMessages } from './shown-messages.ts'

export type FrontEndParts = PollParts & {
  /** `community` shows no messages. docs/contract/messages.md#community-edition */
  edition: 'enterprise' | 'community'
  messages: MessageStore
  shownMessages: ShownMessages
  access: Pick<Access, 'findAgain'>
  identities: Pick<IdentityStore, 'identityOf'>
  /** The caller as audiences name people. */
  viewerBehind(caller: Caller): Promise<Viewer>
}

/** The endpoints from which front ends get messages. docs/contract/messages.md#front-ends */
export function frontEndResources(parts: FrontEndParts): Resource[] {
  const { edition, shownMessages, access, identities, viewerBehind, messages, clock } = parts
  const isOff = edition === 'community'

  return [
    resource('/internal/ui/unauthenticated-messages', {
      help: 'The active messages to show before login, of the namespace and of all above it.',
      open: true,
      read: {
        summary: 'Read the messages to show before login',
        ...messageAnswers.beforeLogin,
        input: polled,
        handle: (exchange) => {
          const namespace = namespaceOf(exchange.call)
          const load = async () =>
            isOff ? nothingShown : retrieved(() => shownMessages.beforeLogin(namespace))
          return answerPoll(parts, { exchange, namespace, load })
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
          const shownTo = async (caller: Caller | undefined) =>
            caller === undefined || isOff
              ? nothingShown
              : retrieved(() => shownMessages.afterLogin(namespace, () => viewerBehind(caller)))
          // the token may have expired or been revoked while its request was held
          const reload = async () =>
            shownTo(await access.findAgain(exchange.caller, exchange.call.remoteAddress, namespace))
          return answerPoll(parts, { exchange, namespace, load: () => shownTo(exchange.caller), reload })
        },
      },
    }),
    resource('/internal/ui/authenticated-messages/:id/ack', {
      help: 'Record that the entity of the calling token has acknowledged a message it is shown.',
      passesReadOnly: true,
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
          const taken = { entityId: entity.id, entity_name: entity.name, time: formatTime(clock.now()) }
          if (owner === undefined || !(await messages.acknowledge(owner, id, taken)))
            throw fail('missing', 'custom message not found')
        },
      },
    }),
  ]
}

const retrieved = (load: () => Promise<Shown>): Promise<Shown> =>
  saying('failed to retrieve custom messages', load)
