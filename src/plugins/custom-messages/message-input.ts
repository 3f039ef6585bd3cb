import { z } from 'zod'
import { type WindowEffect, windowEffects } from '../../core/settings/announcements.ts'
import { refuse, ServiceError } from '../../errors.ts'
import { isBase64 } from '../../lib/text/base64.ts'
import type { FieldMap } from '../../lib/text/coercion.ts'
import {
  boolField,
  convertFields,
  durationField,
  FieldError,
  intField,
  mapField,
  stringField,
  timeField,
} from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { type JsonObject, jsonNumber } from '../../lib/text/json.ts'
import { formatInstant, timeNanoseconds } from '../../lib/text/time.ts'
import {
  type Audience,
  type Message,
  type MessageDraft,
  type MessageType,
  messageTypes,
  type Severity,
  severities,
} from './message.ts'
import { Recurrence, type RecurrenceFields } from './recurrence.ts'

/** The fields of a message on the wire, in the order in which they are converted. docs/contract/messages.md#fields */
export const messageInput = z.object({
  title: stringField.optional().describe('Headline, as plain text'),
  authenticated: boolField.default(true).describe('Shown after login; false: before'),
  type: stringField
    .default('banner')
    .describe('`banner` or `modal`')
    .meta({ examples: ['banner', 'modal'] }),
  message: stringField
    .optional()
    .describe('The text in base64')
    .meta({ examples: ['TWFpbnRlbmFuY2UgYXQgbm9vbg=='] }),
  start_time: timeField
    .optional()
    .describe('Shown after this moment')
    .meta({ examples: ['2026-11-23T12:00:00Z'] }),
  end_time: timeField
    .optional()
    .describe('Shown until this moment; forever if absent')
    .meta({ examples: ['2036-11-23T12:00:00Z'] }),
  link: mapField
    .optional()
    .describe('One entry: the text and the address of the link')
    .meta({ examples: [{ Status: 'https://status.example.com' }] }),
  options: mapField.optional().describe('Any data for the front end; returned unchanged'),
  severity: stringField
    .optional()
    .describe('`info`, `success`, `warning` or `critical`')
    .meta({ examples: ['info', 'success', 'warning', 'critical'] }),
  priority: intField.optional().describe('Higher ones are shown first'),
  dismissible: boolField.optional().describe('Whether a reader may close it'),
  acknowledge_required: boolField.optional().describe('Whether a reader must acknowledge it'),
  audience: mapField
    .optional()
    .describe('Who sees it: lists `policies`, `entity_ids`, `group_ids`')
    .meta({ examples: [{ policies: ['deploy'] }] }),
  effect: stringField
    .optional()
    .describe('What it does while it is active: `read_only` or `no_new_credentials`; needs `sudo`')
    .meta({ examples: [...windowEffects] }),
  schedule: mapField
    .optional()
    .describe('When it recurs: `cron` (five fields), `duration`, `time_zone` (UTC if absent)')
    .meta({ examples: [{ cron: '0 2 * * sat', duration: '2h', time_zone: 'Europe/Berlin' }] }),
})

type Input = z.output<typeof messageInput>

/** A field of a message is invalid; the response has the bare text. docs/contract/messages.md#checks */
export class InvalidMessage extends ServiceError {
  constructor(text: string) {
    super('invalid', text, { reason: 'message_invalid' })
  }
}

/** A message whose times and type have not been checked yet. */
export type UncheckedMessage = Omit<MessageDraft, 'type'> & { readonly type: string }

/**
 * Throws `InvalidMessage`. A create checks the start before the link, an update after it.
 * docs/contract/messages.md#order-for-an-update
 */
export function readMessageInput(input: Input, operation: 'create' | 'update'): UncheckedMessage {
  const { title, message, end_time, priority, dismissible, acknowledge_required } = input
  if (title === undefined) throw new InvalidMessage('missing title parameter value')
  if (message === undefined) throw new InvalidMessage('missing message parameter value')
  if (!isBase64(message)) throw new InvalidMessage('invalid message parameter value, must be base64 encoded')
  if (operation === 'update') linkOf(input.link)
  if (input.start_time === undefined) throw new InvalidMessage('missing start_time parameter value')
  return {
    title,
    message,
    type: input.type,
    authenticated: input.authenticated,
    start: timeNanoseconds(input.start_time),
    end: end_time === undefined ? undefined : timeNanoseconds(end_time),
    link: linkOf(input.link),
    options: input.options ?? null,
    ...(input.severity === undefined ? {} : { severity: severityOf(input.severity) }),
    ...(priority === undefined ? {} : { priority }),
    ...(dismissible === undefined ? {} : { dismissible }),
    ...(acknowledge_required === undefined ? {} : { acknowledge_required }),
    ...(input.audience === undefined || input.audience === null
      ? {}
      : { audience: audienceOf(input.audience, input.authenticated) }),
    ...(input.effect === undefined ? {} : { effect: effectOf(input.effect) }),
    ...(input.schedule === undefined || input.schedule === null
      ? {}
      : { schedule: scheduleOf(input.schedule) }),
  }
}

/** docs/contract/messages.md#checks */
export function checkMessage(message: UncheckedMessage): MessageDraft {
  const { type, start, end } = message
  if (end !== undefined && end <= start)
    throw refuse('invalid', 'message start time must occur before end time')
  if (!isType(type)) throw refuse('invalid', 'unrecognized message type')
  return { ...message, type }
}

export function inputOf({
  id: _,
  start,
  end,
  link,
  priority,
  audience,
  schedule,
  ...rest
}: Message): JsonObject {
  return {
    ...rest,
    start_time: formatInstant(start),
    ...(end === undefined ? {} : { end_time: formatInstant(end) }),
    link: link === null ? null : { [link.title]: link.href },
    ...(priority === undefined ? {} : { priority: jsonNumber(String(priority)) }),
    ...(audience === undefined
      ? {}
      : {
          audience: Object.fromEntries(Object.entries(audience).map(([list, names]) => [list, [...names]])),
        }),
    ...(schedule && {
      schedule: { ...schedule.fields, duration: jsonNumber(String(schedule.fields.duration)) },
    }),
  }
}

export const isType = (text: string): text is MessageType => messageTypes.some((type) => type === text)

/** docs/contract/messages.md#links */
function linkOf(given: FieldMap | null | undefined): MessageDraft['link'] {
  const [entry, ...more] = Object.entries(given ?? {})
  if (entry === undefined) return null
  if (more.length > 0)
    throw new InvalidMessage(
      'invalid number of elements in link parameter value; only a single element can be provided',
    )
  const [title, href] = entry
  if (typeof href !== 'string')
    throw new InvalidMessage(`invalid url for ${quoted(title)} key in link parameter value`)
  if (title === '' && href === '') return null
  if (title === '') throw new InvalidMessage('missing title key in link parameter value')
  if (href === '') throw new InvalidMessage(`missing url for ${quoted(title)} key in link parameter value`)
  return { title, href }
}

function severityOf(text: string): Severity {
  const severity = severities.find((known) => known === text)
  if (severity === undefined)
    throw new InvalidMessage(`invalid severity parameter value, must be one of ${severities.join(', ')}`)
  return severity
}

function effectOf(text: string): WindowEffect {
  const effect = windowEffects.find((known) => known === text)
  if (effect === undefined)
    throw new InvalidMessage(`invalid effect parameter value, must be one of ${windowEffects.join(', ')}`)
  return effect
}

const scheduleFields = z.object({
  cron: stringField.default(''),
  duration: durationField.default(0),
  time_zone: stringField.default('UTC'),
})

/** docs/contract/message-windows.md#schedules */
function scheduleOf(given: FieldMap): Recurrence {
  const recurrence = Recurrence.of(scheduleInput(given))
  if ('error' in recurrence) throw new InvalidMessage(`invalid schedule parameter value, ${recurrence.error}`)
  return recurrence
}

function scheduleInput(given: FieldMap): RecurrenceFields {
  try {
    const { values, unknown } = convertFields(scheduleFields, given)
    if (unknown.length === 0) return values
  } catch (error) {
    if (error instanceof FieldError)
      throw new InvalidMessage(`invalid schedule parameter value, ${error.text}`)
    throw error
  }
  throw new InvalidMessage('invalid schedule parameter value, must have cron, duration and time_zone only')
}

const audienceLists = ['policies', 'entity_ids', 'group_ids'] as const

function audienceOf(given: FieldMap, authenticated: boolean): Audience {
  if (!authenticated) throw new InvalidMessage('audience needs authenticated messages')
  const lists = audienceLists.flatMap((name) =>
    Object.hasOwn(given, name) ? [[name, namesOf(name, given[name])] as const] : [],
  )
  const unknown = Object.keys(given).find((name) => !lists.some(([known]) => known === name))
  if (unknown !== undefined)
    throw new InvalidMessage(
      `invalid audience parameter value, must have no other lists than ${audienceLists.join(', ')}`,
    )
  return Object.fromEntries(lists)
}

function namesOf(list: string, given: unknown): string[] {
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given
  throw new InvalidMessage(`invalid audience parameter value, ${list} must be a list of strings`)
}
