import { formatInstant } from '../../lib/text/time.ts'
import { isActive } from './active-window.ts'
import { linkScheme } from './link.ts'
import type { Instant, Message, MessageDraft } from './message.ts'

/** The fields that responses include only if the message sets them. docs/contract/messages.md#fields */
function optionalFields({ severity, priority, dismissible, acknowledge_required, audience }: MessageDraft) {
  // JSON omits those that are undefined
  return { severity, priority, dismissible, acknowledge_required, audience }
}

const timesOf = ({ start, end }: MessageDraft) => ({
  start_time: formatInstant(start),
  end_time: end === undefined ? null : formatInstant(end),
})

const linkMap = ({ link }: MessageDraft): Record<string, string> | null =>
  link === null ? null : { [link.title]: link.href }

/**
 * An entry of the two front-end endpoints. Replaces an address that could run script with an empty one.
 * docs/contract/messages.md#front-ends
 */
export function shownEntry(message: MessageDraft) {
  const { title, message: text, authenticated, type, link, options } = message
  const isSafe = link === null || linkScheme(link.href) === undefined
  return {
    title,
    message: text,
    authenticated,
    type,
    ...timesOf(message),
    link: isSafe ? linkMap(message) : { [link.title]: '' },
    options,
    ...optionalFields(message),
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
    active: isActive(message, now),
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
  return { title, type, authenticated, ...timesOf(message), active: isActive(message, now) }
}
