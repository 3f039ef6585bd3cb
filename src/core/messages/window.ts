import type { Instant, Message } from './message.ts'

type Window = Pick<Message, 'start' | 'end'>

/** Both ends of a window are exclusive. docs/contract/messages.md#active-window */
export const isActive = ({ start, end }: Window, now: Instant): boolean =>
  now > start && (end === undefined || now < end)

/**
 * The earliest start or end that is still to take effect; undefined when there is none. A start that is just
 * now counts: its message shows a moment later. docs/contract/messages.md#entity-tags
 */
export function nextChange(windows: Iterable<Window>, now: Instant): Instant | undefined {
  let next: Instant | undefined
  for (const { start, end } of windows) {
    const change = start >= now ? start : end !== undefined && end > now ? end : undefined
    if (change !== undefined && (next === undefined || change < next)) next = change
  }
  return next
}
