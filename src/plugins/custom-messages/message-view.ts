import { formatInstant } from '../../lib/text/time.ts'
import { type Window, windowAt } from './active-window.ts'
import { linkScheme } from './link.ts'
import type { Instant, Message, MessageDraft } from './message.ts'
import { noticeOf } from './window-notice.ts'

/** The fields that responses include only if the message sets them. docs/contract/messages.md#fields */
function optionalFields(message: MessageDraft) {
  const { severity, priority, dismissible, acknowledge_required, audience, effect, schedule } = message
  // JSON omits those that are undefined
  return {
    severity,
    priority,
    dismissible,
    acknowledge_required,
    audience,
    effect,
    schedule: schedule?.fields,
  }
}

export const timesOf = ({ start, end }: Window) => ({
  start_time: formatInstant(start),
  end_time: end === undefined ? null : formatInstant(end),
})

const linkMap = ({ link }: MessageDraft): Record<string, string> | null =>
  link === null ? null : { [link.title]: link.href }

/**
 * An entry of the two front-end endpoints. Replaces an address that could run script with an empty one.
 * `window`: the one it is shown in. docs/contract/messages.md#front-ends, docs/contract/message-windows.md#banners
 */
export function shownEntry(message: MessageDraft, window: Window = message) {
  const { title, message: text, authenticated, type, link, options } = message
  const isSafe = link === null || linkScheme(link.href) === undefined
  return {
    title,
    message: text,
    authenticated,
    type,
    ...timesOf(window),
    link: isSafe ? linkMap(message) : { [link.title]: '' },
    options,
    ...optionalFields(message),
    notice: noticeOf(message, window),
  }
}

/** The response to a read, update or patch. docs/contract/messages.md#read */
export function itemView(message: Message, now: Instant) {
  const { id, title, authenticated, type, message: text, options } = message
  return {
    id,
    title,
    authenticated,
    type,
    message: text,
    ...timesOf(message),
    link: linkMap(message),
    options,
    active: windowAt(message, now) !== undefined,
    ...optionalFields(message),
  }
}

/** The response to a create, whose link has another form. docs/contract/messages.md#create */
export const createdView = (message: Message, now: Instant) => ({
  ...itemView(message, now),
  link: message.link,
})

/** An entry of a list. docs/contract/messages.md#list */
export function listEntry(message: Message, now: Instant) {
  const { title, type, authenticated } = message
  return { title, type, authenticated, ...timesOf(message), active: windowAt(message, now) !== undefined }
}
