import { z } from 'zod'
import { windowEffects } from '../../core/settings/announcements.ts'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'
import { messageTypes, severities } from './message.ts'

/**
 * Schemas and examples of the responses of the message paths, for the OpenAPI document, and the operation ids
 * that clients generated from Vault's document use. docs/contract/messages.md#paths
 */

const text = z.string()
const time = z.iso.datetime()
const linkMap = z.record(text, text).nullable()
const asList = <T extends z.ZodType>(entry: T) =>
  z.object({ keys: z.array(text), key_info: z.record(text, entry) })

const told = z.object({
  title: text,
  authenticated: z.boolean(),
  type: z.enum(messageTypes),
  start_time: time,
  end_time: time.nullable(),
})
const set = {
  severity: z.enum(severities).optional(),
  priority: z.int().optional(),
  dismissible: z.boolean().optional(),
  acknowledge_required: z.boolean().optional(),
  audience: z.record(text, z.array(text)).optional(),
  effect: z.enum(windowEffects).optional(),
  schedule: z.object({ cron: text, duration: z.int(), time_zone: text }).optional(),
}
const base64 = text.describe('The text in base64')
const entry = told.extend({
  message: base64,
  link: linkMap,
  options: z.object({}).loose().nullable(),
  ...set,
  notice: text.optional().describe('When the effect ends, for people'),
})
const item = entry.omit({ notice: true }).extend({ id: text, active: z.boolean() })

const preview = entry.extend({
  active: z.boolean().optional(),
  windows: z.array(z.object({ start_time: time, end_time: time.nullable() })).optional(),
})

const id = '6f1c2f0e-6a1b-4f0e-9c55-0d3a2b1c4d5e'
const exampleTold = {
  title: 'Maintenance',
  authenticated: false,
  type: 'banner',
  start_time: '2026-01-01T12:00:00Z',
  end_time: '2026-01-01T14:00:00Z',
}
const exampleEntry = {
  ...exampleTold,
  message: 'V2UgYXJlIGJhY2sgYXQgdHdvLg==',
  link: { 'Learn more': 'https://status.example.com' },
  options: null,
  severity: 'warning',
}
const exampleItem = { id, ...exampleEntry, active: true }
/** docs/contract/messages.md#acknowledgements */
const shown = {
  output: z.union([asList(entry), z.object({}).describe('There is nothing to show')]),
  example: { keys: [id], key_info: { [id]: exampleEntry } },
  statuses: [200, 304],
  requestHeaders: { 'If-None-Match': 'Tag of `data`: 304 while it is unchanged' },
  headers: {
    ETag: 'Tag of `data`: a request that sends it as If-None-Match gets 304 while `data` is unchanged',
    'X-Next-Change-At': 'When the next planned message starts or ends (RFC 3339); absent without one',
  },
} as const

export const messageAnswers = {
  list: {
    operationId: 'ui-config-list-custom-messages',
    output: asList(told.extend({ active: z.boolean() })),
    example: { keys: [id], key_info: { [id]: { ...exampleTold, active: true } } },
  },
  create: {
    operationId: 'create-custom-message',
    output: item.extend({ link: z.object({ title: text, href: text }).nullable() }),
    example: { ...exampleItem, link: { title: 'Learn more', href: 'https://status.example.com' } },
  },
  preview: { operationId: 'ui-config-preview-custom-message', output: preview, example: exampleEntry },
  read: { operationId: 'ui-config-read-custom-message', output: item, example: exampleItem },
  update: { operationId: 'ui-config-update-custom-message', output: item, example: exampleItem },
  patch: { operationId: 'ui-config-patch-custom-message', output: item, example: exampleItem },
  delete: { operationId: 'ui-config-delete-custom-message' },
  acknowledgements: {
    operationId: 'ui-config-list-custom-message-acknowledgements',
    output: asList(z.object({ acknowledged_time: time, entity_name: text })),
    example: {
      keys: ['c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d'],
      key_info: {
        'c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d': {
          acknowledged_time: '2026-01-01T12:30:00Z',
          entity_name: 'alice',
        },
      },
    },
  },
  beforeLogin: { operationId: 'internal-ui-read-unauthenticated-active-custom-messages', ...shown },
  afterLogin: { operationId: 'internal-ui-read-authenticated-active-custom-messages', ...shown },
  acknowledge: { operationId: 'internal-ui-acknowledge-custom-message' },
} as const satisfies Record<string, DocumentedAnswer>
