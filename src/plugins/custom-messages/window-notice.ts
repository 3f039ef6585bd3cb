import type { WindowEffect } from '../../core/settings/announcements.ts'
import type { Window } from './active-window.ts'
import type { Instant, MessageDraft } from './message.ts'

const longestTitle = 256

/** A title as refusals and warnings show it: in terminals and logs, it must not pretend to be something else. */
export function printable(title: string): string {
  const text = title.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim()
  const letters = [...text]
  return letters.length > longestTitle ? `${letters.slice(0, longestTitle - 1).join('')}…` : text
}

/** A banner in one line. docs/contract/message-windows.md#warnings */
export function lineOf(message: Pick<MessageDraft, 'title' | 'effect' | 'schedule'>, window: Window): string {
  const notice = noticeOf(message, window)
  return printable(message.title) + (notice === undefined ? '' : ` (${notice})`)
}

const halted: Record<WindowEffect, string> = { read_only: 'Writes', no_new_credentials: 'New credentials' }

/**
 * When the effect of a message ends, for people; undefined if it has none. In the time zone of its schedule, or else in
 * UTC; with the date unless it begins and ends on one day. docs/contract/message-windows.md#banners
 */
export function noticeOf(
  { effect, schedule }: Pick<MessageDraft, 'effect' | 'schedule'>,
  { start, end }: Window,
): string | undefined {
  if (effect === undefined) return undefined
  if (end === undefined) return `${halted[effect]} are suspended until further notice`
  const shown = (instant: Instant) => {
    const time = Number(instant / 1_000_000n)
    const [date = '', clock = ''] = new Date(time + (schedule?.offsetAt(time) ?? 0)).toISOString().split('T')
    return { date, clock: clock.slice(0, 5) }
  }
  const until = shown(end)
  const day = shown(start).date === until.date ? '' : `on ${until.date} `
  return `${halted[effect]} resume ${day}at ${until.clock} ${schedule?.fields.time_zone ?? 'UTC'}`
}
