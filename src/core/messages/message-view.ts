import { formatInstant } from '../../lib/time.ts'
import { linkScheme } from './link.ts'
import type { Instant, Message, MessageDraft } from './message.ts'
import { isActive } from './window.ts'

/** The fields that answers have only when the message sets them. docs/contract/messages.md#fields */
function setFields({ severity, priority, dismissible, acknowledge_required, audience }: MessageDraft) {
  return {
    ...(severity === undefined ? {} : { severity }),
    ...(priority === undefined ? {} : { priority }),
    ...(dismissible === undefined ? {} : { dismissible }),
    ...(acknowledge_required === undefined ? {} : { acknowledge_required }),
    ...(audience === undefined ? {} : { audience }),
  }
}

const timesOf = ({ start, end }: MessageDraft) => ({
  start_time: formatInstant(start),
  end_time: end === undefined ? null : formatInstant(end),
})

/** Title to address: the form of a link that is also taken in. */
const linkMap = ({ link }: MessageDraft): Record<string, string> | null =>
  link === null ? null : { [link.title]: link.href }

/**
 * One entry of the two endpoints front ends ask. An address that could run code there is left out, its title
 * stays. docs/contract/messages.md#front-ends
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
    ...setFields(message),
  }
}

/** The answer to a read, update or patch. docs/contract/messages.md#read */
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
    ...setFields(message),
  }
}

/** The answer to a create: its link has another form. docs/contract/messages.md#create */
export const createdView = (message: Message, now: Instant) => ({
  ...itemView(message, now),
  link: message.link,
})

/** One entry of a list. docs/contract/messages.md#list */
export function listEntry(message: Message, now: Instant) {
  const { title, type, authenticated } = message
  return { title, type, authenticated, ...timesOf(message), active: isActive(message, now) }
}
