import type { Instant, Message } from './message.ts'

type Window = Pick<Message, 'start' | 'end'>

/** Both bounds are exclusive. docs/contract/messages.md#active-window */
export const isActive = ({ start, end }: Window, now: Instant): boolean =>
  now > start && (end === undefined || now < end)

/**
 * The earliest start or end that has not taken effect yet. A start equal to `now` counts, because the message
 * becomes active right after it. docs/contract/messages.md#entity-tags
 */
export function nextChange(windows: Iterable<Window>, now: Instant): Instant | undefined {
  let next: Instant | undefined
  for (const { start, end } of windows) {
    const change = start >= now ? start : end !== undefined && end > now ? end : undefined
    if (change !== undefined && (next === undefined || change < next)) next = change
  }
  return next
}
