import { z } from 'zod'
import { refuse, ServiceError } from '../../errors.ts'
import type { FieldMap } from '../../lib/text/coercion.ts'
import { isJsonNumber, type JsonNumber, numberText } from '../../lib/text/json.ts'
import { formatInstant, hasFourDigitYear, timeNanoseconds } from '../../lib/text/time.ts'
import { type Instant, type Message, type MessageDraft, messageTypes, severities } from './message.ts'

const texts = z.array(z.string())
const map = z.custom<FieldMap>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonNumber(value),
)

/** The stored form of a message, whose key has the id. */
const recordFields = z.object({
  title: z.string(),
  message: z.string(),
  type: z.enum(messageTypes),
  authenticated: z.boolean(),
  start_time: z.iso.datetime(),
  end_time: z.iso.datetime().nullable(),
  link: z.object({ title: z.string(), href: z.string() }).nullable(),
  options: map.nullable(),
  severity: z.enum(severities).exactOptional(),
  priority: z
    .custom<JsonNumber>(isJsonNumber)
    .transform((value) => Number(numberText(value)))
    .exactOptional(),
  dismissible: z.boolean().exactOptional(),
  acknowledge_required: z.boolean().exactOptional(),
  audience: z
    .object({
      policies: texts.exactOptional(),
      entity_ids: texts.exactOptional(),
      group_ids: texts.exactOptional(),
    })
    .exactOptional(),
})

/** Throws if a year does not have four digits. docs/contract/messages.md#times */
export function messageRecord({ id: _, start, end, ...rest }: Message): object {
  return { ...rest, start_time: timeText(start), end_time: end === undefined ? null : timeText(end) }
}

/** `stored` has `JsonNumber`s (lib/text/json.ts). */
export function readMessage(id: string, stored: unknown): Message {
  const parsed = recordFields.safeParse(stored)
  if (!parsed.success) throw new ServiceError('internal', 'internal error', { reason: 'record_unreadable' })
  const { start_time, end_time, ...rest } = parsed.data
  return {
    ...rest,
    id,
    start: timeNanoseconds(start_time),
    end: end_time === null ? undefined : timeNanoseconds(end_time),
  }
}

export function checkStorable(draft: MessageDraft): MessageDraft {
  messageRecord({ ...draft, id: '' })
  return draft
}

function timeText(instant: Instant): string {
  const text = formatInstant(instant)
  if (hasFourDigitYear(text)) return text
  throw refuse(
    'invalid',
    'json: error calling MarshalJSON for type time.Time: Time.MarshalJSON: year outside of range [0,9999]',
  )
}
