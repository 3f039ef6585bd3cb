import { z } from 'zod'
import type { DocumentedAnswer } from '../../../http/resource/resource.ts'

/** Schemas and examples of the responses of `sys/…`, for the OpenAPI document. docs/contract/mounts.md */

const text = z.string()
const count = z.int()
const time = z.iso.datetime()
const texts = z.array(text)
const notes = z.record(text, text)

/** Of a policy; those built in have none of them. */
const policyTerms = {
  version: count.optional(),
  modified: time.optional(),
  cas_required: z.boolean().optional(),
  expiration: time.optional(),
  allow_slashes_in_identity_templates: z.literal(true).optional(),
  allow_wildcards_in_identity_templates: z.literal(true).optional(),
}

const mount = z.object({
  accessor: text,
  config: z.object({ default_lease_ttl: count, force_no_cache: z.boolean(), max_lease_ttl: count }).loose(),
  deprecation_status: text.optional(),
  description: text,
  external_entropy_access: z.boolean(),
  local: z.boolean(),
  options: notes.nullable(),
  plugin_version: text,
  running_plugin_version: text,
  running_sha256: text,
  seal_wrap: z.boolean(),
  type: text,
  uuid: text,
})
const tuning = z
  .object({
    default_lease_ttl: count,
    description: text,
    force_no_cache: z.boolean(),
    max_lease_ttl: count,
    options: notes.optional(),
  })
  .loose()
const exampleTuning = {
  default_lease_ttl: 2_764_800,
  description: 'CI jobs',
  force_no_cache: false,
  max_lease_ttl: 2_764_800,
}
const briefMount = z.object({ description: text, options: notes.nullable(), type: text })
const exampleMount = {
  accessor: 'auth_jwt_5d3a9c1e',
  config: { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0, token_type: 'default-service' },
  deprecation_status: 'supported',
  description: 'CI jobs',
  external_entropy_access: false,
  local: false,
  options: null,
  plugin_version: '',
  running_plugin_version: 'v1.16.3+builtin.vault',
  running_sha256: '',
  seal_wrap: false,
  type: 'jwt',
  uuid: '0d6a1c9f-2f57-4c88-a4b1-7e0a5f3c9d21',
}

const namespace = z.object({
  id: text,
  uuid: text,
  path: text,
  tainted: z.boolean(),
  locked: z.boolean(),
  custom_metadata: notes,
})
const exampleNamespace = {
  id: 'aB3xY9',
  uuid: '4f0c7d52-98b1-4a5e-8a0d-2b6a7c1e9f34',
  path: 'team/',
  tainted: false,
  locked: false,
  custom_metadata: { owner: 'ops' },
}

const counted = (of: string): DocumentedAnswer => ({
  output: z.object({ counters: z.object({ [of]: z.object({ total: count }) }) }),
  example: { counters: { [of]: { total: 3 } } },
})

export const answers = {
  capabilities: {
    output: z.record(text, texts),
    example: { 'auth/jwt/role/ci': ['read'], capabilities: ['read'] },
  },
  mounts: { output: z.record(text, mount), example: { 'jwt/': exampleMount } },
  mount: { output: mount, example: exampleMount },
  tuning: { output: tuning, example: exampleTuning },
  mountOfPath: { output: mount.extend({ path: text }), example: { ...exampleMount, path: 'jwt/' } },
  shownMounts: {
    output: z.object({
      auth: z.record(text, z.union([mount, briefMount])),
      secret: z.record(text, z.union([mount, briefMount])),
    }),
    example: { auth: { 'jwt/': { description: 'CI jobs', options: null, type: 'jwt' } }, secret: {} },
  },
  remount: {
    output: z.object({ migration_id: text }),
    example: { migration_id: '8a1d4b36-6f52-4b0e-9d5c-3c7e2f1a0b98' },
  },
  migration: {
    output: z.object({
      migration_id: text,
      migration_info: z.object({
        source_mount: text,
        status: z.enum(['in-progress', 'success', 'failure']),
        target_mount: text,
      }),
    }),
    example: {
      migration_id: '8a1d4b36-6f52-4b0e-9d5c-3c7e2f1a0b98',
      migration_info: { source_mount: 'auth/jwt/', status: 'success', target_mount: 'auth/ci/' },
    },
  },
  namespaces: {
    output: z.object({ keys: texts, key_info: z.record(text, namespace) }),
    example: { keys: ['team/'], key_info: { 'team/': exampleNamespace } },
  },
  namespace: { output: namespace, example: exampleNamespace },
  namespaceEnds: {
    output: z.unknown().describe('The status `in-progress`; null for a namespace that does not exist'),
    example: { status: 'in-progress' },
  },
  shownNamespaces: { output: z.object({ keys: texts }), example: { keys: ['team/'] } },
  unlockKey: { output: z.object({ unlock_key: text }), example: { unlock_key: 'q0H2c8vYw1sT' } },
  maybeWarned: { statuses: [204, 200] },
  policy: {
    output: z.object({ name: text, policy: text, ...policyTerms }),
    example: { name: 'deploy', policy: 'path "cloud/creds/deploy" { capabilities = ["read"] }' },
  },
  oldPolicy: {
    output: z.object({ name: text, rules: text, ...policyTerms }),
    example: { name: 'deploy', rules: 'path "cloud/creds/deploy" { capabilities = ["read"] }' },
  },
  oldPolicies: {
    output: z.object({ keys: texts, policies: texts }),
    example: { keys: ['default', 'deploy'], policies: ['default', 'deploy'] },
  },
  resultantAcl: {
    output: z.object({
      root: z.boolean(),
      exact_paths: z.record(text, z.unknown()).optional(),
      glob_paths: z.record(text, z.unknown()).optional(),
    }),
    example: {
      root: false,
      exact_paths: { 'cloud/creds/deploy': { capabilities: ['read'] } },
      glob_paths: {},
    },
  },
  serviceTokens: counted('service_tokens'),
  entities: counted('entities'),
  keyStatus: {
    output: z.object({ term: count, install_time: time, encryptions: count }),
    example: { term: 1, install_time: '2026-01-01T12:00:00Z', encryptions: 42 },
  },
  rotationRules: {
    output: z.object({ enabled: z.boolean(), interval: count, max_operations: count }),
    example: { enabled: true, interval: 0, max_operations: 3_865_470_566 },
  },
  randomBytes: { output: z.object({ random_bytes: text }), example: { random_bytes: 'c2VjcmV0' } },
  digest: {
    output: z.object({ sum: text }),
    example: { sum: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' },
  },
  leaseIds: { output: z.object({ keys: texts }), example: { keys: ['deploy/'] } },
  lease: {
    output: z.object({
      id: text,
      path: text,
      issue_time: time,
      expire_time: time.nullable(),
      last_renewal: time.nullable(),
      renewable: z.boolean(),
      ttl: count,
      namespace_path: text.optional(),
      entity_id: text.optional(),
      revoke_error: text.optional(),
    }),
    example: {
      id: 'cloud/creds/deploy/2f0Ykq7Xo1mJrC4vT8sLw3nB',
      path: 'cloud/creds/deploy',
      issue_time: '2026-01-01T12:00:00Z',
      expire_time: '2026-01-01T13:00:00Z',
      last_renewal: null,
      renewable: true,
      ttl: 3600,
      entity_id: '8d6a3c1e-0b52-4f7e-9a61-2c5d7e3f4b10',
    },
  },
  renewedLease: { statuses: [200] },
  revocation: { statuses: [204, 202] },
  leaseCount: {
    output: z.object({ lease_count: count, counts: z.record(text, count) }),
    example: { lease_count: 1, counts: { cloud_5d3a9c1e: 1 } },
  },
  irrevocableLeases: {
    output: z.object({
      lease_count: count,
      leases: z.array(z.object({ lease_id: text, mount_id: text, error: text })),
    }),
    example: {
      lease_count: 1,
      leases: [
        {
          lease_id: 'cloud/creds/deploy/2f0Ykq7Xo1mJrC4vT8sLw3nB',
          mount_id: 'cloud_5d3a9c1e',
          error: 'the provider refuses',
        },
      ],
    },
  },
  inBackground: { statuses: [202, 200] },
  wrapped: { form: 'wrapped' },
  wrapOrigin: {
    output: z.object({ creation_ttl: count, creation_time: time, creation_path: text }),
    example: {
      creation_ttl: 60,
      creation_time: '2026-01-01T12:00:00.5Z',
      creation_path: 'sys/wrapping/wrap',
    },
  },
  unwrapped: {
    form: 'bare',
    output: z.object({ data: z.object({}).loose().nullable() }).loose(),
    example: { request_id: '0c2a8f4e-6f0b-4f3a-9a51-0f6f2f4b7a10', data: { a: 1 } },
  },
  document: {
    form: 'bare',
    output: z
      .object({ openapi: text, info: z.object({}).loose(), paths: z.record(text, z.unknown()) })
      .loose(),
    example: { openapi: '3.1.0', info: { title: 'Gatehouse', version: '1.2.3' }, paths: {} },
    statuses: [200, 304],
    requestHeaders: { 'If-None-Match': 'Tag of the document: 304 while it is the same' },
    headers: {
      ETag: 'Tag of the document: a request that sends it as If-None-Match gets 304 until it changes',
    },
  },
  loggers: { output: z.object({ core: text }), example: { core: 'info' } },
  logStream: { form: 'text' },
  inFlight: {
    form: 'bare',
    output: z.record(
      text,
      z.object({
        start_time: time,
        client_remote_address: text,
        request_path: text,
        request_method: text,
        client_id: text,
      }),
    ),
    example: {
      '0c2a8f4e-6f0b-4f3a-9a51-0f6f2f4b7a10': {
        start_time: '2026-03-01T09:30:00Z',
        client_remote_address: '127.0.0.1',
        request_path: '/v1/sys/in-flight-req',
        request_method: 'GET',
        client_id: '',
      },
    },
  },
  versionHistory: {
    output: z.object({
      keys: texts,
      key_info: z.record(
        text,
        z.object({
          build_date: time,
          commit_date: time,
          previous_version: text.nullable(),
          timestamp_installed: time,
        }),
      ),
    }),
    example: {
      keys: ['1.2.3'],
      key_info: {
        '1.2.3': {
          build_date: '2026-02-28T00:00:00Z',
          commit_date: '2026-02-28T00:00:00Z',
          previous_version: null,
          timestamp_installed: '2026-03-01T09:30:00Z',
        },
      },
    },
  },
  haStatus: {
    output: z.object({
      nodes: z.array(
        z.object({
          hostname: text,
          api_address: text,
          cluster_address: text,
          active_node: z.boolean(),
          last_echo: time.nullable(),
          version: text,
        }),
      ),
    }),
    example: {
      nodes: [
        {
          hostname: 'one',
          api_address: 'https://one.example.com:8200',
          cluster_address: '',
          active_node: true,
          last_echo: null,
          version: '1.16.3+ent',
        },
      ],
    },
  },
  hostInfo: {
    output: z.object({
      cpu: z.array(z.object({ cpu: count, cores: count, modelName: text, mhz: z.number() })),
      cpu_times: z.array(
        z.object({
          cpu: text,
          user: z.number(),
          system: z.number(),
          idle: z.number(),
          nice: z.number(),
          irq: z.number(),
        }),
      ),
      disk: z.array(
        z.object({
          path: text,
          fstype: text,
          total: z.number(),
          free: z.number(),
          used: z.number(),
          usedPercent: z.number(),
          inodesTotal: z.number(),
          inodesUsed: z.number(),
          inodesFree: z.number(),
          inodesUsedPercent: z.number(),
        }),
      ),
      host: z.object({
        hostname: text,
        uptime: count,
        bootTime: count,
        os: text,
        platform: text,
        kernelVersion: text,
        kernelArch: text,
      }),
      memory: z.object({
        total: z.number(),
        available: z.number(),
        used: z.number(),
        usedPercent: z.number(),
      }),
      timestamp: time,
    }),
    example: {
      cpu: [{ cpu: 0, cores: 1, modelName: 'Example', mhz: 2400 }],
      cpu_times: [{ cpu: 'cpu0', user: 10, system: 5, idle: 900, nice: 0, irq: 0 }],
      disk: [],
      host: {
        hostname: 'one',
        uptime: 1000,
        bootTime: 1767268800,
        os: 'linux',
        platform: 'Linux',
        kernelVersion: '6.8.0',
        kernelArch: 'x86_64',
      },
      memory: { total: 8e9, available: 4e9, used: 4e9, usedPercent: 50 },
      timestamp: '2026-03-01T09:30:00Z',
    },
  },
} as const satisfies Record<string, DocumentedAnswer>
