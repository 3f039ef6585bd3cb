import { z } from 'zod'
import { windowEffects } from '../../core/settings/announcements.ts'
import type { FieldMap } from '../../lib/text/coercion.ts'
import { isJsonNumber, isJsonObject, type JsonNumber, numberText } from '../../lib/text/json.ts'
import type { Recurrence } from './recurrence.ts'

/** Nanoseconds since the epoch. */
export type Instant = bigint

export const messageTypes = ['banner', 'modal'] as const
export type MessageType = (typeof messageTypes)[number]

export const severities = ['info', 'success', 'warning', 'critical'] as const
export type Severity = (typeof severities)[number]

const texts = z.array(z.string())
const map = z.custom<FieldMap>(isJsonObject)

const wholeNumber = z.custom<JsonNumber>(isJsonNumber).transform((value) => Number(numberText(value)))

/**
 * The stored form of a message, whose key has the id. Optional fields are present only if set.
 * docs/contract/messages.md#fields
 */
export const recordFields = z.object({
  title: z.string(),
  /** Base64, exactly as sent. */
  message: z.string(),
  type: z.enum(messageTypes),
  /** True: shown after login; false: before. */
  authenticated: z.boolean(),
  start_time: z.iso.datetime(),
  /** Null if it never ends. */
  end_time: z.iso.datetime().nullable(),
  link: z.object({ title: z.string(), href: z.string() }).nullable(),
  /** Numbers are `JsonNumber`s (lib/text/json.ts). */
  options: map.nullable(),
  severity: z.enum(severities).exactOptional(),
  priority: wholeNumber.exactOptional(),
  dismissible: z.boolean().exactOptional(),
  acknowledge_required: z.boolean().exactOptional(),
  /** For callers that match any list; without lists, for everyone. docs/contract/messages.md#audience */
  audience: z
    .object({
      policies: texts.exactOptional(),
      entity_ids: texts.exactOptional(),
      group_ids: texts.exactOptional(),
    })
    .exactOptional(),
  effect: z.enum(windowEffects).exactOptional(),
  /** `duration` is seconds. docs/contract/message-windows.md#schedules */
  schedule: z.object({ cron: z.string(), duration: wholeNumber, time_zone: z.string() }).exactOptional(),
})

type RecordFields = Readonly<z.output<typeof recordFields>>
export type Audience = NonNullable<RecordFields['audience']>

/** A message as written by an operator. An `end` of undefined: it never ends. */
export type MessageDraft = Omit<RecordFields, 'start_time' | 'end_time' | 'schedule'> & {
  readonly start: Instant
  readonly end: Instant | undefined
  readonly schedule?: Recurrence
}

export type Message = MessageDraft & { readonly id: string }

/** Sorts later starts first, then by id. docs/contract/messages.md#list */
export function byStart(a: Message, b: Message): number {
  if (a.start !== b.start) return a.start > b.start ? -1 : 1
  return a.id < b.id ? -1 : 1
}
