import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import { type ErrorKind, fail, refuse, ServiceError } from '../../errors.ts'
import {
  checkMayReach,
  type Exchange,
  hasSudo,
  type KeptHistory,
  limitOf,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { boolField, convertFields, stringField, timeField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { JsonValue } from '../../lib/text/json.ts'
import { mergePatched } from '../../lib/text/merge-patch.ts'
import { timeNanoseconds } from '../../lib/text/time.ts'
import { instantOf, windowAt, windowsFrom } from './active-window.ts'
import { messageAnswers } from './answers.ts'
import { linkScheme } from './link.ts'
import type { Instant, Message, MessageDraft } from './message.ts'
import {
  checkMessage,
  InvalidMessage,
  inputOf,
  isType,
  messageInput,
  readMessageInput,
} from './message-input.ts'
import { checkStorable } from './message-record.ts'
import type { MessageStore } from './message-store.ts'
import { createdView, itemView, listEntry, shownEntry, timesOf } from './message-view.ts'

export type MessageRouteParts = Pick<Core, 'clock' | 'history'> & { readonly messages: MessageStore }

const base = '/config/ui/custom-messages'

const momentField = timeField.optional()

const filters = z.object({
  authenticated: boolField
    .optional()
    .describe('true: only messages shown after login; false: only messages shown before'),
  type: stringField
    .optional()
    .describe('`banner` or `modal`: only messages of this type; any other value is ignored'),
  active: boolField.optional().describe('true: only messages shown now; false: only messages not shown now'),
  at: momentField.describe('`active` is computed for this moment instead of now'),
})

const previewInput = messageInput.extend({
  at: momentField.describe('Tell whether it is active at this moment, and its windows from then on'),
})

/** `sys/config/ui/custom-messages`: messages of operators to users. docs/contract/messages.md#paths */
export function messageResources({ messages, clock, history: store }: MessageRouteParts): Resource[] {
  const now = (): Instant => instantOf(clock.now())
  const history = messageHistory(messages, store)

  return [
    resource(base, {
      help: 'The messages user interfaces show in this namespace.',
      passesReadOnly: true,
      collection: true,
      dropsSlash: true,
      // every write creates a message; false makes its fields be converted before the rights are checked
      exists: () => false,
      history: { ...history, elsewhere: 'other name' },
      list: {
        summary: 'List messages',
        ...messageAnswers.list,
        input: filters,
        handle: async ({ mount, input, sent }) => {
          const all = await saying('failed to retrieve list of custom messages', () =>
            messages.listOf(mount.namespace),
          )
          const moment = input.at === undefined ? now() : timeNanoseconds(input.at)
          const found = all.filter((message) => isWanted(message, input, moment))
          const shown = pageOf(found, sent)
          if (shown.length === 0) return undefined
          const isUnknownType = input.type !== undefined && !isType(input.type)
          return {
            paged: true,
            data: {
              keys: shown.map(({ id }) => id),
              key_info: Object.fromEntries(shown.map((message) => [message.id, listEntry(message, moment)])),
            },
            warnings: isUnknownType ? ['Endpoint ignored the unrecognized value of the type filter'] : [],
          }
        },
      },
      write: {
        summary: 'Create a message',
        required: ['title', 'message', 'start_time'],
        ...messageAnswers.create,
        input: messageInput,
        handle: async (exchange) => {
          const { mount, input } = exchange
          const fields = readMessageInput(input, 'create')
          checkMayAct(exchange, fields)
          const made = await saying('failed to create custom message', async () =>
            messages.create(mount.namespace, checkMessage(fields)),
          )
          return { data: createdView(made, now()), warnings: warningsFor(made) }
        },
      },
    }),
    resource(`${base}/preview`, {
      help: 'Check a message and show it as user interfaces get it, without storing it.',
      passesReadOnly: true,
      collection: true,
      exists: () => false,
      write: {
        summary: 'Preview a message',
        required: ['title', 'message', 'start_time'],
        ...messageAnswers.preview,
        input: previewInput,
        handle: async ({ input }) => {
          const fields = readMessageInput(input, 'create')
          const draft = await saying('failed to create custom message', async () =>
            checkStorable(checkMessage(fields)),
          )
          return { data: previewed(draft, input.at, now()), warnings: warningsFor(draft) }
        },
      },
    }),
    resource(`${base}/:id/acks`, {
      help: 'Who has acknowledged a message.',
      collection: true,
      list: {
        summary: 'List acknowledgements',
        ...messageAnswers.acknowledgements,
        handle: async (exchange) => {
          const { mount, params, sent } = exchange
          checkMayReach(exchange, { operation: 'read', path: `${base.slice(1)}/${params.id}` })
          const limit = limitOf(sent['limit'])
          const range = {
            after: typeof sent['after'] === 'string' ? sent['after'] : '',
            ...(limit > 0 ? { limit } : {}),
          }
          const found = await saying('failed to retrieve custom message', () =>
            messages.acknowledgements(mount.namespace, params.id, range),
          )
          if (found === undefined) throw notFound()
          if (found.length === 0) return undefined
          const data = {
            keys: found.map(({ entityId }) => entityId),
            key_info: Object.fromEntries(
              found.map(({ entityId, entity_name, time }) => [
                entityId,
                { acknowledged_time: time, entity_name },
              ]),
            ),
          }
          return { paged: true, data }
        },
      },
    }),
    resource(`${base}/*id`, {
      help: 'One message.',
      passesReadOnly: true,
      dropsSlash: true,
      history,
      read: {
        summary: 'Read a message',
        ...messageAnswers.read,
        handle: async ({ mount, params }) => {
          const message = await saying('failed to retrieve custom message', () =>
            messages.find(mount.namespace, params.id),
          )
          return itemReply(message, now())
        },
      },
      write: {
        summary: 'Replace a message',
        required: ['title', 'message', 'start_time'],
        ...messageAnswers.update,
        input: messageInput,
        handle: async (exchange) => {
          const { call, mount, params, input } = exchange
          const fields = readMessageInput(input, 'update')
          const next = (old?: Message) => {
            checkMayAct(exchange, ...(old ? [old] : []), fields)
            return checkMessage(fields)
          }
          const message = await saying('failed to update custom message', () =>
            call.restores === undefined
              ? messages.update(mount.namespace, params.id, next)
              : messages.restore(mount.namespace, params.id, next),
          )
          return itemReply(message, now(), warningsFor)
        },
      },
      patch: {
        summary: 'Change some fields of a message',
        ...messageAnswers.patch,
        input: messageInput,
        handle: async (exchange) => {
          const { mount, params, sent } = exchange
          const message = await saying('failed to update custom message', () =>
            messages.update(mount.namespace, params.id, (old) => {
              const fields = readMessageInput(patched(old, sent), 'update')
              checkMayAct(exchange, old, fields)
              return checkMessage(fields)
            }),
          )
          return itemReply(message, now(), warningsFor)
        },
      },
      delete: {
        summary: 'Delete a message',
        ...messageAnswers.delete,
        handle: (exchange) =>
          saying('failed to delete custom message', () =>
            messages.delete(exchange.mount.namespace, exchange.params.id, (old) =>
              checkMayAct(exchange, old),
            ),
          ),
      },
    }),
  ]
}

const messageHistory = (
  messages: MessageStore,
  store: Core['history'],
): KeptHistory<{ readonly id?: string }> => ({
  store,
  record: ({ mount }) => messages.recordsOf(mount.namespace),
  path: ({ params }, rest) => `${base.slice(1)}/${params.id ?? rest}`,
  form: async ({ mount, params }, rest) => {
    const message = await messages.find(mount.namespace, params.id ?? rest)
    return message && inputOf(message)
  },
})

/** Only `sudo` gives a message an effect, or changes one that has an effect. docs/contract/message-windows.md#rights */
function checkMayAct(
  exchange: Exchange<unknown, unknown>,
  ...messages: readonly Pick<MessageDraft, 'effect'>[]
): void {
  if (messages.some(({ effect }) => effect !== undefined) && !hasSudo(exchange))
    throw fail('denied', 'permission denied')
}

const shownWindows = 5

/**
 * The entry that front ends get of a draft, at the next time if it recurs; with a schedule or for a moment, also its
 * windows. docs/contract/message-windows.md#preview
 */
function previewed(draft: MessageDraft, at: string | undefined, now: Instant): object {
  if (at === undefined && draft.schedule === undefined) return shownEntry(draft)
  const moment = at === undefined ? now : timeNanoseconds(at)
  const windows = windowsFrom(draft, moment, shownWindows)
  const [first = draft] = draft.schedule === undefined ? [] : windows
  return {
    ...shownEntry(draft, first),
    active: windowAt(draft, moment) !== undefined,
    windows: windows.map(timesOf),
  }
}

const notFound = () => fail('missing', 'custom message not found')

const passed: ReadonlySet<ErrorKind> = new Set(['sealed', 'denied'])

/** Rethrows a failure of `work` as a refusal that begins with `what`. docs/contract/messages.md#checks */
export async function saying<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ServiceError) || error instanceof InvalidMessage || passed.has(error.kind))
      throw error
    throw refuse('invalid', `${what}: ${error.message}`, {
      cause: error,
      ...(error.reason === undefined ? {} : { reason: error.reason }),
    })
  }
}

function itemReply(
  message: Message | undefined,
  now: Instant,
  warnings: (message: Message) => string[] = () => [],
): Reply {
  if (message === undefined) throw notFound()
  return { data: itemView(message, now), warnings: warnings(message) }
}

/** Warns of a link that is stored but omitted by the front-end endpoints. docs/contract/messages.md#links */
function warningsFor({ link }: MessageDraft): string[] {
  const scheme = link === null ? undefined : linkScheme(link.href)
  return scheme === undefined ? [] : [`link scheme ${quoted(scheme)} is not http, https or mailto`]
}

/** The fields of a message after a merge patch. Both were converted before, so this cannot fail. */
const patched = (old: Message, patch: Readonly<Record<string, JsonValue>>) =>
  convertFields(messageInput, mergePatched(inputOf(old), patch)).values

/** docs/contract/messages.md#list */
function isWanted(
  message: Message,
  { authenticated, type, active }: z.output<typeof filters>,
  now: Instant,
): boolean {
  if (authenticated !== undefined && message.authenticated !== authenticated) return false
  if (type !== undefined && isType(type) && message.type !== type) return false
  return active === undefined || (windowAt(message, now) !== undefined) === active
}

/** Applies `after` and `limit` by position. If `after` is not in the list, the page is empty. */
function pageOf(found: readonly Message[], sent: Readonly<Record<string, JsonValue>>): readonly Message[] {
  const { after } = sent
  const limit = limitOf(sent['limit'])
  const place = typeof after !== 'string' || after === '' ? -1 : found.findIndex(({ id }) => id === after)
  const rest = place < 0 && typeof after === 'string' && after !== '' ? [] : found.slice(place + 1)
  return limit > 0 ? rest.slice(0, limit) : rest
}
