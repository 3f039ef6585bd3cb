import { z } from 'zod'
import type { DeviceDescription } from '../../core/audit/device-rules.ts'
import type { Core } from '../../core/open/core.ts'
import { fail, refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, kvField, stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'

type AuditRouteParts = Pick<Core, 'audit' | 'history'>

const deviceInput = z.object({
  type: stringField
    .default('')
    .describe('`file` or `http`')
    .meta({ examples: ['file', 'http'] }),
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
const chainKey = z.object({ key_id: text, public_key: text, created_time: text, retired_time: text })
const chainHead = z.object({ device: text, replica: text, id: text, seq: z.int(), hash: text, time: text })

/** `sys/audit`, `sys/audit-hash` and the audited request headers. docs/contract/audit.md#endpoints */
export function auditResources({
  audit: { log, headers, chains },
  history: store,
}: AuditRouteParts): Resource[] {
  return [
    ...chainResources(chains),
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
      history: {
        store,
        record: ({ params }) => log.recordKey(withSlash(params.path)),
        path: ({ params }) => `audit/${withSlash(params.path).slice(0, -1)}`,
        form: ({ params }) =>
          log.devices.find(({ description }) => description.path === withSlash(params.path))?.description,
      },
      read: {
        summary: 'Read the history of an audit device: only with `history` or `version`',
        output: z
          .object({ path: text, deleted: z.boolean(), versions: z.array(z.looseObject({})) })
          .partial(),
        example: { path: 'sys/audit/file', deleted: false, versions: [{ version: 1, operation: 'create' }] },
        handle: () => {
          throw fail('unsupported', 'unsupported operation')
        },
      },
      write: {
        summary: 'Enable an audit device',
        required: ['type'],
        input: deviceInput.meta({ examples: [{ type: 'file', options: { file_path: 'discard' } }] }),
        handle: async ({ params, input }) => {
          const { options, ...rest } = input
          await log.enable({ ...rest, options: options ?? {}, path: withSlash(params.path) })
        },
      },
      delete: {
        summary: 'Disable an audit device',
        handle: ({ params }) => log.disable(withSlash(params.path)),
      },
    }),
    resource('/audit-hash/*path', {
      help: 'The hash that entries of an audit device show for a text.',
      passesReadOnly: true,
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
      history: {
        store,
        record: () => headers.recordKey,
        path: ({ params }) => `config/auditing/request-headers/${params.header.toLowerCase()}`,
        form: ({ params }) => headers.get(params.header),
      },
      read: {
        summary: 'Read how a request header is audited',
        output: z.record(text, header),
        example: { 'X-Request-Source': { hmac: false } },
        handle: ({ params }) => {
          const found = headers.get(params.header)
          if (found === undefined) throw refuse('invalid', 'Could not find header in config')
          return { data: { [params.header]: found } }
        },
      },
      write: {
        summary: 'Show a request header in audit entries',
        input: z.object({ hmac: boolField.default(false).describe('Hash its values') }),
        handle: ({ params, input }) => headers.put(params.header, input.hmac),
      },
      delete: {
        summary: 'Show a request header no longer',
        handle: ({ params }) => headers.delete(params.header),
      },
    }),
  ]
}

/** Whoever keeps what the first returns can tell whether an audit file was changed. */
const chainResources = (chains: AuditRouteParts['audit']['chains']): Resource[] => [
  resource('/audit-chain', {
    help: 'The keys that sign audit files, and the last signed position of each.',
    sudo: true,
    read: {
      summary: 'Read what audit files are verified with',
      output: z.object({ keys: z.array(chainKey), heads: z.array(chainHead) }),
      example: exampleChain,
      handle: async () => ({
        data: { keys: chains.keys, heads: (await chains.heads()).map(({ is_final, ...head }) => head) },
      }),
    },
  }),
  resource('/audit-chain/rotate', {
    help: 'Replaces the key that signs audit files.',
    sudo: true,
    write: {
      summary: 'Sign audit files with a new key; the old public key stays listed',
      handle: () => chains.rotate(),
    },
  }),
]

const exampleChain = {
  keys: [
    {
      key_id: '5b0e1c7a9d3f4e2186b7c0d94a1f63e2',
      public_key: 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=',
      created_time: '2026-01-01T00:00:00Z',
      retired_time: '',
    },
  ],
  heads: [
    {
      device: 'file/',
      replica: 'gate-1',
      id: '9f1c2b3a4d5e6f708192a3b4c5d6e7f8',
      seq: 1000,
      hash: 'c4d2f1'.padEnd(64, '0'),
      time: '2026-01-01T00:00:10Z',
    },
  ],
}

const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`)

/** Headers of an HTTP device may hold credentials of the collector. */
function shown({ path, type, description, options, local }: DeviceDescription): z.output<typeof device> {
  const { headers, ...rest } = options
  return { path, type, description, options: type === 'http' ? rest : options, local }
}

const exampleDevice: DeviceDescription = {
  path: 'file/',
  type: 'file',
  description: '',
  local: false,
  options: { file_path: 'data/audit/audit.log' },
}
