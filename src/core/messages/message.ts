import type { FieldMap } from '../../lib/coercion.ts'

/** A moment in nanoseconds since 1970. */
export type Instant = bigint

export const messageTypes = ['banner', 'modal'] as const
export type MessageType = (typeof messageTypes)[number]

export const severities = ['info', 'success', 'warning', 'critical'] as const
export type Severity = (typeof severities)[number]

/**
 * Whom a message is for: whoever one of the lists names. Without any list, everyone.
 * docs/contract/messages.md#audience
 */
export type Audience = {
  readonly policies?: readonly string[]
  readonly entity_ids?: readonly string[]
  readonly group_ids?: readonly string[]
}

export type MessageLink = { readonly title: string; readonly href: string }

/**
 * A message as an operator wrote it. A field of the last group is there only when it was set.
 * docs/contract/messages.md#fields
 */
export type MessageDraft = {
  readonly title: string
  /** Base64, exactly as it was sent. */
  readonly message: string
  readonly type: MessageType
  /** Shown after login; else before. */
  readonly authenticated: boolean
  readonly start: Instant
  /** Undefined: it never ends. */
  readonly end: Instant | undefined
  readonly link: MessageLink | null
  /** Numbers keep their text (lib/json.ts). */
  readonly options: FieldMap | null
  readonly severity?: Severity
  readonly priority?: number
  readonly dismissible?: boolean
  readonly acknowledge_required?: boolean
  readonly audience?: Audience
}

export type Message = MessageDraft & { readonly id: string }

/** Later starts first, then by id. docs/contract/messages.md#list */
export function byStart(a: Message, b: Message): number {
  if (a.start !== b.start) return a.start > b.start ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** Of milliseconds since 1970, as clocks give them. */
export const instantOf = (milliseconds: number): Instant => BigInt(Math.trunc(milliseconds)) * 1_000_000n
