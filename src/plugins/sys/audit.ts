import { z } from 'zod'
import type { AuditLog } from '../../core/audit/audit-log.ts'
import type { AuditedHeaders } from '../../core/audit/audited-headers.ts'
import type { DeviceDescription } from '../../core/audit/device-rules.ts'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource.ts'
import { boolField, kvField, stringField } from '../../lib/fields.ts'
import { quoted } from '../../lib/go/text.ts'

export type AuditRouteParts = {
  readonly audit: {
    readonly log: Pick<AuditLog, 'devices' | 'enable' | 'disable' | 'hashOf'>
    readonly headers: Pick<AuditedHeaders, 'all' | 'put' | 'delete'>
  }
}

const deviceInput = z.object({
  type: stringField.default('').describe('`file` or `http`'),
  description: stringField.default('').describe('A note for operators'),
  options: kvField
    .default(null)
    .meta({ description: 'Options of the device, such as file_path', writeOnly: true }),
  local: boolField.default(false).describe('Accepted and shown; has no effect'),
})
const text = z.string()
const device = z.object({
  path: text,
  type: text,
  description: text,
  options: z.record(text, text),
  local: z.boolean(),
})
const header = z.object({ hmac: z.boolean() })

/** `sys/audit`, `sys/audit-hash` and the audited request headers. docs/contract/audit.md#endpoints */
export function auditResources({ audit: { log, headers } }: AuditRouteParts): Resource[] {
  return [
    resource('/audit', {
      help: 'The audit devices, which record every request and response.',
      sudo: true,
      read: {
        summary: 'List the audit devices',
        output: z.record(text, device),
        example: { 'file/': shown(exampleDevice) },
        handle: () => ({
          data: Object.fromEntries(
            log.devices.map(({ description }) => [description.path, shown(description)]),
          ),
        }),
      },
    }),
    resource('/audit/*path', {
      help: 'One audit device.',
      sudo: true,
      write: {
        summary: 'Enable an audit device',
        required: ['type'],
        input: deviceInput,
        handle: async ({ params, input }) => {
          const { options, ...rest } = input
          await log.enable({ ...rest, options: options ?? {}, path: withSlash(params.path) })
          return undefined
        },
      },
      delete: {
        summary: 'Disable an audit device',
        handle: async ({ params }) => {
          await log.disable(withSlash(params.path))
          return undefined
        },
      },
    }),
    resource('/audit-hash/*path', {
      help: 'The hash that entries of an audit device show for a text.',
      write: {
        summary: 'Hash a text as an audit device does',
        required: ['input'],
        input: z.object({
          input: stringField.default('').meta({ description: 'The text', writeOnly: true }),
        }),
        output: z.object({ hash: text }),
        example: { hash: `hmac-sha256:${'0'.repeat(64)}` },
        handle: ({ params, input }) => {
          if (input.input === '') throw refuse('invalid', 'the "input" parameter is empty')
          const path = withSlash(params.path)
          const hash = log.hashOf(path, input.input)
          if (hash === undefined) throw refuse('invalid', `unknown audit backend ${quoted(path)}`)
          return { data: { hash } }
        },
      },
    }),
    resource('/config/auditing/request-headers', {
      help: 'The request headers that audit entries show.',
      sudo: true,
      read: {
        summary: 'List the audited request headers',
        output: z.object({ headers: z.record(text, header) }),
        example: { headers: { 'x-request-source': { hmac: false } } },
        handle: () => ({ data: { headers: headers.all } }),
      },
    }),
    resource('/config/auditing/request-headers/:header', {
      help: 'One request header that audit entries show.',
      sudo: true,
      read: {
        summary: 'Read how a request header is audited',
        output: z.record(text, header),
        example: { 'X-Request-Source': { hmac: false } },
        handle: ({ params }) => {
          const found = headers.all[params.header.toLowerCase()]
          if (found === undefined) throw refuse('invalid', 'Could not find header in config')
          return { data: { [params.header]: found } }
        },
      },
      write: {
        summary: 'Show a request header in audit entries',
        input: z.object({ hmac: boolField.default(false).describe('Hash its values') }),
        handle: async ({ params, input }) => {
          await headers.put(params.header, input.hmac)
          return undefined
        },
      },
      delete: {
        summary: 'Show a request header no longer',
        handle: async ({ params }) => {
          await headers.delete(params.header)
          return undefined
        },
      },
    }),
  ]
}

const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`)

/** Headers of an HTTP device may hold credentials of the collector. */
function shown({ path, type, description, options, local }: DeviceDescription): z.output<typeof device> {
  const { headers, ...rest } = options
  return { path, type, description, options: type === 'http' ? rest : options, local }
}

const exampleDevice: DeviceDescription = {
  ...{ path: 'file/', type: 'file', description: '', local: false },
  options: { file_path: 'data/audit/audit.log' },
}
