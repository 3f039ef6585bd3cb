import { serverNow } from '../../api/clock.ts'
import type { FullMessage, MessageInput } from '../../api/message-admin.ts'
import { base64OfText, type ShownMessage, textOfBase64 } from '../../api/messages.ts'

/** A message as the form holds it: texts, and times as the person's clock shows them. */
export type Draft = {
  readonly title: string
  readonly text: string
  readonly authenticated: boolean
  readonly type: 'banner' | 'modal'
  readonly severity: ShownMessage['severity']
  readonly linkTitle: string
  readonly linkHref: string
  readonly starts: string
  /** Empty: never. */
  readonly ends: string
  readonly dismissible: boolean
  readonly mustAcknowledge: boolean
  readonly priority: string
  readonly policies: string
  readonly entityIds: string
  readonly groupIds: string
}

/** What `<input type="datetime-local">` takes. */
function localTime(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

export const newDraft = (): Draft => ({
  title: '',
  text: '',
  authenticated: false,
  type: 'banner',
  severity: 'info',
  linkTitle: '',
  linkHref: '',
  starts: localTime(new Date(serverNow())),
  ends: '',
  dismissible: true,
  mustAcknowledge: false,
  priority: '0',
  policies: '',
  entityIds: '',
  groupIds: '',
})

export function draftOf(message: FullMessage): Draft {
  const [link] = Object.entries(message.link ?? {})
  const list = (name: string) => (message.audience?.[name] ?? []).join(', ')
  return {
    title: message.title,
    text: textOfBase64(message.message),
    authenticated: message.authenticated,
    type: message.type,
    severity: message.severity ?? 'info',
    linkTitle: link?.[0] ?? '',
    linkHref: link?.[1] ?? '',
    starts: localTime(new Date(message.start_time)),
    ends: message.end_time === null ? '' : localTime(new Date(message.end_time)),
    dismissible: message.dismissible ?? true,
    mustAcknowledge: message.acknowledge_required ?? false,
    priority: String(message.priority ?? 0),
    policies: list('policies'),
    entityIds: list('entity_ids'),
    groupIds: list('group_ids'),
  }
}

const listOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** Undefined while the time is incomplete. */
export const utcOf = (local: string): string | undefined => {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** A time that the person has not touched keeps its seconds. */
const timeOf = (local: string, stored: string | null | undefined): string | undefined =>
  stored != null && localTime(new Date(stored)) === local ? stored : utcOf(local)

/**
 * What the draft is for the server: a whole message, with what the stored one has beside the fields of the form.
 * Fields at their default are left out.
 */
export function inputOf(draft: Draft, stored: FullMessage | undefined): MessageInput {
  const lists = { policies: draft.policies, entity_ids: draft.entityIds, group_ids: draft.groupIds }
  const audience = Object.fromEntries(
    Object.entries(lists).flatMap(([name, text]) =>
      listOf(text).length === 0 ? [] : [[name, listOf(text)]],
    ),
  )
  const ends = timeOf(draft.ends, stored?.end_time)
  const hasAudience = draft.authenticated && Object.keys(audience).length > 0
  return {
    title: draft.title,
    message: base64OfText(draft.text),
    start_time: timeOf(draft.starts, stored?.start_time) ?? '',
    authenticated: draft.authenticated,
    type: draft.type,
    ...(ends !== undefined && { end_time: ends }),
    ...((draft.linkTitle !== '' || draft.linkHref !== '') && { link: { [draft.linkTitle]: draft.linkHref } }),
    ...(draft.severity !== 'info' && { severity: draft.severity }),
    ...(!draft.dismissible && { dismissible: false }),
    ...(draft.authenticated && draft.mustAcknowledge && { acknowledge_required: true }),
    ...(draft.priority.trim() !== '0' &&
      draft.priority.trim() !== '' && { priority: Number(draft.priority) }),
    ...(hasAudience && { audience }),
    ...(stored?.options != null && { options: stored.options }),
    ...(stored?.effect && { effect: stored.effect }),
    ...(stored?.schedule && { schedule: stored.schedule }),
  }
}

export const shownOf = (draft: Draft): ShownMessage => ({
  id: 'draft',
  title: draft.title,
  text: draft.text,
  type: draft.authenticated && draft.mustAcknowledge ? 'modal' : draft.type,
  link:
    draft.linkTitle === '' && draft.linkHref === ''
      ? undefined
      : { title: draft.linkTitle, href: draft.linkHref },
  severity: draft.severity,
  dismissible: draft.dismissible,
  mustAcknowledge: draft.authenticated && draft.mustAcknowledge,
  notice: '',
})
