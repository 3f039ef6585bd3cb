import { serverNow } from '../../api/clock.ts'
import type { FullMessage, MessageInput } from '../../api/message-admin.ts'
import { base64OfText, type ShownMessage, textOfBase64 } from '../../api/messages.ts'
import { typedDuration } from '../../components/time.tsx'
import { optionsOf, type Side, type Stored, sideOf, storedOnes } from './pair.ts'

/** Everybody gets two messages, which are written and end together. */
export type Shown = Side | 'everybody'

/** A message as the form holds it: texts, and times as the person's clock shows them. */
export type Draft = {
  readonly title: string
  readonly text: string
  readonly shown: Shown
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
  readonly policies: readonly string[]
  readonly entityIds: readonly string[]
  readonly groupIds: readonly string[]
  readonly effect: NonNullable<FullMessage['effect']> | ''
  readonly isRecurring: boolean
  readonly cron: string
  readonly duration: string
  readonly timeZone: string
}

/** What `<input type="datetime-local">` takes. */
function localTime(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

const newDraft = (): Draft => ({
  title: '',
  text: '',
  shown: 'before',
  type: 'banner',
  severity: 'info',
  linkTitle: '',
  linkHref: '',
  starts: localTime(new Date(serverNow())),
  ends: '',
  dismissible: true,
  mustAcknowledge: false,
  priority: '0',
  policies: [],
  entityIds: [],
  groupIds: [],
  effect: '',
  isRecurring: false,
  cron: '',
  duration: '',
  timeZone: ownZone(),
})

/** Of two that belong together, what only readers after the login get is in the second. */
export function draftOf(stored: Stored): Draft {
  const message = stored.after ?? stored.before
  if (message === undefined) return newDraft()
  const [link] = Object.entries(message.link ?? {})
  const list = (name: string) => message.audience?.[name] ?? []
  const { cron, duration, time_zone: zone } = message.schedule ?? {}
  return {
    title: message.title,
    text: textOfBase64(message.message),
    shown: storedOnes(stored).length > 1 ? 'everybody' : sideOf(message),
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
    effect: message.effect ?? '',
    isRecurring: message.schedule !== undefined,
    cron: cron ?? '',
    duration: duration === undefined ? '' : typedDuration(duration),
    timeZone: message.schedule === undefined ? ownZone() : (zone ?? 'UTC'),
  }
}

/** Undefined while the time is incomplete. */
export const utcOf = (local: string): string | undefined => {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** A time that the person has not touched keeps its seconds. */
const timeOf = (local: string, stored: string | null | undefined): string | undefined =>
  stored != null && localTime(new Date(stored)) === local ? stored : utcOf(local)

export const sidesOf = (shown: Shown): readonly Side[] =>
  shown === 'everybody' ? ['before', 'after'] : [shown]

/** The messages to write. `pair` connects two that belong together. */
export function inputsOf(
  draft: Draft,
  stored: Stored,
  pair: string,
): Readonly<Partial<Record<Side, MessageInput>>> {
  const [any] = storedOnes(stored)
  const isPair = draft.shown === 'everybody'
  return Object.fromEntries(
    sidesOf(draft.shown).map((side) => {
      const options = optionsOf((stored[side] ?? any)?.options, isPair ? pair : undefined)
      return [side, { ...inputOf(draft, side, stored[side] ?? any), ...(options && { options }) }]
    }),
  )
}

/** The draft as the server takes it: a whole message. Fields at their default are left out. */
function inputOf(draft: Draft, side: Side, stored: FullMessage | undefined): MessageInput {
  const ends = timeOf(draft.ends, stored?.end_time)
  const isAfter = side === 'after'
  const audience = draft.shown === 'after' ? audienceOf(draft) : {}
  return {
    title: draft.title,
    message: base64OfText(draft.text),
    start_time: timeOf(draft.starts, stored?.start_time) ?? '',
    authenticated: isAfter,
    type: draft.type,
    ...(ends !== undefined && { end_time: ends }),
    ...((draft.linkTitle !== '' || draft.linkHref !== '') && { link: { [draft.linkTitle]: draft.linkHref } }),
    ...(draft.severity !== 'info' && { severity: draft.severity }),
    ...(!draft.dismissible && { dismissible: false }),
    ...(isAfter && draft.mustAcknowledge && { acknowledge_required: true }),
    ...(draft.priority.trim() !== '0' &&
      draft.priority.trim() !== '' && { priority: Number(draft.priority) }),
    ...(Object.keys(audience).length > 0 && { audience }),
    ...(draft.effect !== '' && { effect: draft.effect }),
    ...(draft.isRecurring && {
      schedule: { cron: draft.cron, duration: draft.duration, time_zone: draft.timeZone },
    }),
  }
}

function audienceOf(draft: Draft): Record<string, readonly string[]> {
  const lists = { policies: draft.policies, entity_ids: draft.entityIds, group_ids: draft.groupIds }
  return Object.fromEntries(Object.entries(lists).filter(([, ids]) => ids.length > 0))
}

/** `notice`: what the server adds about the effect. */
export function shownOf(draft: Draft, side: Side, notice: string): ShownMessage {
  const mustAcknowledge = side === 'after' && draft.mustAcknowledge
  return {
    id: 'draft',
    title: draft.title,
    text: draft.text,
    type: mustAcknowledge ? 'modal' : draft.type,
    link:
      draft.linkTitle === '' && draft.linkHref === ''
        ? undefined
        : { title: draft.linkTitle, href: draft.linkHref },
    severity: draft.severity,
    dismissible: draft.dismissible,
    mustAcknowledge,
    notice,
  }
}
