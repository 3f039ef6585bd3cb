import * as v from 'valibot'
import { defineCall, send } from './client.ts'

/** What readers get of a message. */
export const messageEntry = v.object({
  title: v.string(),
  message: v.string(),
  type: v.picklist(['banner', 'modal']),
  link: v.nullish(v.record(v.string(), v.string())),
  severity: v.optional(v.picklist(['info', 'success', 'warning', 'critical'])),
  dismissible: v.optional(v.boolean()),
  acknowledge_required: v.optional(v.boolean()),
  notice: v.optional(v.string()),
})

/** Also the answer to a caller for whom there is nothing to show. */
const answer = v.object({
  data: v.union([
    v.object({ keys: v.array(v.string()), key_info: v.record(v.string(), messageEntry) }),
    v.object({}),
  ]),
})

/** A message as readers see it. */
export type ShownMessage = {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly type: 'banner' | 'modal'
  readonly link: { readonly title: string; readonly href: string } | undefined
  readonly severity: 'info' | 'success' | 'warning' | 'critical'
  readonly dismissible: boolean
  readonly mustAcknowledge: boolean
  /** When the effect of the message ends; empty without one. */
  readonly notice: string
}

export const textOfBase64 = (base64: string): string => {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)))
  } catch {
    return ''
  }
}

export const base64OfText = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))

export function shownMessage(id: string, fields: v.InferOutput<typeof messageEntry>): ShownMessage {
  const [link] = Object.entries(fields.link ?? {})
  return {
    id,
    title: fields.title,
    text: textOfBase64(fields.message),
    type: fields.type,
    link: link && { title: link[0], href: link[1] },
    severity: fields.severity ?? 'info',
    dismissible: fields.dismissible ?? true,
    mustAcknowledge: fields.acknowledge_required ?? false,
    notice: fields.notice ?? '',
  }
}

export type Audience = 'unauthenticated' | 'authenticated'

type Asked = { readonly etag: string; readonly waits: boolean; readonly signal: AbortSignal }
type Shown = { readonly etag: string; readonly messages: readonly ShownMessage[] }

/** Reads the messages that are shown now. Undefined: they are those of this tag. */
export async function readMessages(
  audience: Audience,
  { etag, waits, signal }: Asked,
): Promise<Shown | undefined> {
  const { status, headers, body } = await send({
    method: 'GET',
    path: `sys/internal/ui/${audience}-messages`,
    ...(waits && { query: { wait: '60s' } }),
    ...(etag !== '' && { headers: { 'If-None-Match': etag } }),
    ...(audience === 'unauthenticated' && { token: null }),
    signal,
  })
  if (status === 304) return undefined
  const { data } = v.parse(answer, body)
  const messages =
    'keys' in data
      ? data.keys.flatMap((id) => {
          const fields = data.key_info[id]
          return fields === undefined ? [] : [shownMessage(id, fields)]
        })
      : []
  return { etag: headers.get('ETag') ?? '', messages }
}

export const acknowledge = defineCall(
  'post',
  '/sys/internal/ui/authenticated-messages/{id}/ack',
  v.undefined(),
)
