import type { FieldMap } from '../../lib/text/coercion.ts'

/** Nanoseconds since the epoch. */
export type Instant = bigint

export const messageTypes = ['banner', 'modal'] as const
export type MessageType = (typeof messageTypes)[number]

export const severities = ['info', 'success', 'warning', 'critical'] as const
export type Severity = (typeof severities)[number]

/** A message is for callers that match any list; without lists, for everyone. docs/contract/messages.md#audience */
export type Audience = {
  readonly policies?: readonly string[]
  readonly entity_ids?: readonly string[]
  readonly group_ids?: readonly string[]
}

export type MessageLink = { readonly title: string; readonly href: string }

/** A message as written by an operator. Optional fields are present only if set. docs/contract/messages.md#fields */
export type MessageDraft = {
  readonly title: string
  /** Base64, exactly as sent. */
  readonly message: string
  readonly type: MessageType
  /** True: shown after login; false: before. */
  readonly authenticated: boolean
  readonly start: Instant
  /** Undefined if it never ends. */
  readonly end: Instant | undefined
  readonly link: MessageLink | null
  /** Numbers are `JsonNumber`s (lib/text/json.ts). */
  readonly options: FieldMap | null
  readonly severity?: Severity
  readonly priority?: number
  readonly dismissible?: boolean
  readonly acknowledge_required?: boolean
  readonly audience?: Audience
}

export type Message = MessageDraft & { readonly id: string }

/** Sorts later starts first, then by id. docs/contract/messages.md#list */
export function byStart(a: Message, b: Message): number {
  if (a.start !== b.start) return a.start > b.start ? -1 : 1
  return a.id < b.id ? -1 : 1
}

export const instantOf = (milliseconds: number): Instant => BigInt(Math.trunc(milliseconds)) * 1_000_000n
