import { refuse, ServiceError } from '../../errors.ts'
import { formatInstant, hasFourDigitYear, timeNanoseconds } from '../../lib/text/time.ts'
import { type Instant, type Message, type MessageDraft, recordFields } from './message.ts'
import { Recurrence } from './recurrence.ts'

/** Throws if a year does not have four digits. docs/contract/messages.md#times */
export function messageRecord({ id: _, start, end, schedule, ...rest }: Message): object {
  return {
    ...rest,
    ...(schedule && { schedule: schedule.fields }),
    start_time: timeText(start),
    end_time: end === undefined ? null : timeText(end),
  }
}

/** `stored` has `JsonNumber`s (lib/text/json.ts). */
export function readMessage(id: string, stored: unknown): Message {
  const parsed = recordFields.safeParse(stored)
  const recurrence = parsed.data?.schedule && Recurrence.of(parsed.data.schedule)
  if (!parsed.success || (recurrence && 'error' in recurrence))
    throw new ServiceError('internal', 'internal error', { reason: 'record_unreadable' })
  const { start_time, end_time, schedule: _, ...rest } = parsed.data
  return {
    ...rest,
    id,
    start: timeNanoseconds(start_time),
    end: end_time === null ? undefined : timeNanoseconds(end_time),
    ...(recurrence && { schedule: recurrence }),
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
