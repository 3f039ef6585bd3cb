import type { Instant, MessageDraft } from './message.ts'

/** From when until when a message is shown; undefined: without end. */
export type Window = Pick<MessageDraft, 'start' | 'end'>

/** Both bounds are exclusive. docs/contract/messages.md#active-window */
export const isActive = ({ start, end }: Window, now: Instant): boolean =>
  now > start && (end === undefined || now < end)

/**
 * The window that a message is in and the next one, as far as there are any; without a schedule, its only one.
 * docs/contract/message-windows.md#schedules
 */
export function windowsOf(message: Window & Pick<MessageDraft, 'schedule'>, now: Instant): readonly Window[] {
  const { start, end, schedule } = message
  if (schedule === undefined) return [{ start, end }]
  const { current, next } = schedule.at(millisecondsOf(now > start ? now : start))
  return [current, next].flatMap((occurrence) => {
    if (occurrence === undefined) return []
    const first = laterOf(start, instantOf(occurrence.start))
    const last = earlierOf(end, instantOf(occurrence.end))
    return first < last ? [{ start: first, end: last }] : []
  })
}

/** The window that a message is in now; undefined if it is not active. */
export const windowAt = (
  message: Window & Pick<MessageDraft, 'schedule'>,
  now: Instant,
): Window | undefined => windowsOf(message, now).find((window) => isActive(window, now))

/** The first windows, at most so many, that end after a moment. */
export function windowsFrom(
  message: Window & Pick<MessageDraft, 'schedule'>,
  now: Instant,
  most: number,
): readonly Window[] {
  const found: Window[] = []
  let from = now
  while (found.length < most) {
    const window = windowsOf(message, from).find(({ start, end }) =>
      found.length === 0 ? end === undefined || end > from : start >= from,
    )
    if (window === undefined) break
    found.push(window)
    if (message.schedule === undefined) break
    from = window.start + 1n
  }
  return found
}

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

const nanosecondsPerMs = 1_000_000n

/** The first full millisecond at or after a change. */
export const millisecondAfter = (change: Instant | undefined): number =>
  change === undefined
    ? Number.POSITIVE_INFINITY
    : Number((change + nanosecondsPerMs - 1n) / nanosecondsPerMs)

export const instantOf = (milliseconds: number): Instant =>
  BigInt(Math.trunc(milliseconds)) * nanosecondsPerMs

const millisecondsOf = (instant: Instant): number => Number(instant / nanosecondsPerMs)

const laterOf = (one: Instant, other: Instant): Instant => (one > other ? one : other)

const earlierOf = (one: Instant | undefined, other: Instant): Instant =>
  one === undefined || one > other ? other : one
