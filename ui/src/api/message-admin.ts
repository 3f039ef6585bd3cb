import * as v from 'valibot'
import { defineCall } from './client.ts'
import { messageEntry } from './messages.ts'

const texts = v.array(v.string())
const root = '/sys/config/ui/custom-messages'

export const messagesPath = 'sys/config/ui/custom-messages'

const listed = v.object({
  title: v.string(),
  authenticated: v.boolean(),
  type: v.picklist(['banner', 'modal']),
  start_time: v.string(),
  end_time: v.nullable(v.string()),
  active: v.boolean(),
})

export type ListedMessage = v.InferOutput<typeof listed> & { readonly id: string }

export const listMessages = defineCall(
  'list',
  root,
  v.object({ data: v.object({ keys: texts, key_info: v.record(v.string(), listed) }) }),
)

const full = v.object({
  ...messageEntry.entries,
  ...listed.entries,
  id: v.string(),
  priority: v.optional(v.number()),
  options: v.nullish(v.record(v.string(), v.unknown())),
  audience: v.optional(v.record(v.string(), texts)),
  effect: v.optional(v.picklist(['read_only', 'no_new_credentials'])),
  schedule: v.optional(
    v.object({
      cron: v.string(),
      /** Seconds. */
      duration: v.number(),
      time_zone: v.string(),
    }),
  ),
})

export type FullMessage = v.InferOutput<typeof full>

export const readMessage = defineCall('get', `${root}/{id}`, v.object({ data: full }))

const warned = { warnings: v.nullable(texts) }

export const createMessage = defineCall(
  'post',
  root,
  v.object({ data: v.object({ id: v.string() }), ...warned }),
)
export const replaceMessage = defineCall('post', `${root}/{id}`, v.object({ data: full, ...warned }))
export const deleteMessage = defineCall('delete', `${root}/{id}`, v.undefined())
const messageWindow = v.object({ start_time: v.string(), end_time: v.nullable(v.string()) })

/** When a message is shown. */
export type MessageWindow = v.InferOutput<typeof messageWindow>

export const previewMessage = defineCall(
  'post',
  `${root}/preview`,
  v.object({
    data: v.object({ ...messageEntry.entries, windows: v.optional(v.array(messageWindow)) }),
    ...warned,
  }),
)

export type MessageInput = NonNullable<Parameters<typeof createMessage>[0]['body']>

export const listAcknowledgements = defineCall(
  'list',
  `${root}/{id}/acks`,
  v.object({
    data: v.object({
      keys: texts,
      key_info: v.record(v.string(), v.object({ acknowledged_time: v.string(), entity_name: v.string() })),
    }),
  }),
)
