import { z } from 'zod'
import { windowEffects } from '../../../core/settings/announcements.ts'
import type { DocumentedAnswer } from '../../../http/resource/resource.ts'

/**
 * Schemas and examples of the responses of the node-level paths, for the OpenAPI document.
 * docs/operations.md#health, docs/operations.md#start-stop-restart
 */

const text = z.string()
const time = z.iso.datetime()
const clusterFields = { cluster_name: text.optional(), cluster_id: text.optional() }
const cluster = { cluster_name: 'vault-cluster-1a2b3c4d', cluster_id: '1a2b3c4d-7f30-4b1e-8f6a-0c9d2e5b7a41' }
const status = (shown: string): DocumentedAnswer => ({
  output: z.object({ status: text }),
  example: { status: shown },
})

export const nodeAnswers = {
  live: status('live'),
  ready: status('ready'),
  health: {
    output: z.object({
      initialized: z.boolean(),
      sealed: z.boolean(),
      standby: z.boolean(),
      performance_standby: z.boolean(),
      replication_performance_mode: text,
      replication_dr_mode: text,
      server_time_utc: z.int(),
      version: text,
      gatehouse_version: text,
      enterprise: z.boolean(),
      ...clusterFields,
      exact_list_matching: z.literal(true).optional(),
      storage: text.optional(),
      maintenance: z.array(z.object({ effect: z.enum(windowEffects), until: time.nullable() })).optional(),
    }),
    example: {
      initialized: true,
      sealed: false,
      standby: false,
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'disabled',
      server_time_utc: 1767268800,
      version: '1.16.3+ent',
      gatehouse_version: '1.2.3',
      enterprise: true,
      ...cluster,
    },
  },
  init: {
    output: z.object({
      initialized: z.boolean().optional(),
      keys: z.array(text).optional(),
      keys_base64: z.array(text).optional(),
      recovery_keys: z.array(text).optional(),
      recovery_keys_base64: z.array(text).optional(),
      root_token: text.optional(),
    }),
    example: { initialized: true },
  },
  sealStatus: {
    output: z.object({
      type: text,
      initialized: z.boolean(),
      sealed: z.boolean(),
      t: z.int(),
      n: z.int(),
      progress: z.int(),
      nonce: text,
      version: text,
      build_date: text,
      commit_date: text,
      migration: z.boolean(),
      ...clusterFields,
      recovery_seal: z.boolean(),
      storage_type: text,
    }),
    example: {
      type: 'static',
      initialized: true,
      sealed: false,
      t: 0,
      n: 0,
      progress: 0,
      nonce: '',
      version: '1.16.3+ent',
      build_date: '2026-01-01T00:00:00Z',
      commit_date: '2026-01-01T00:00:00Z',
      migration: false,
      ...cluster,
      recovery_seal: true,
      storage_type: 'sqlite',
    },
  },
  leader: {
    output: z.object({
      ha_enabled: z.boolean(),
      is_self: z.boolean(),
      active_time: text,
      leader_address: text,
      leader_cluster_address: text,
      performance_standby: z.boolean(),
      performance_standby_last_remote_wal: z.int(),
    }),
    example: {
      ha_enabled: false,
      is_self: false,
      active_time: '0001-01-01T00:00:00Z',
      leader_address: '',
      leader_cluster_address: '',
      performance_standby: false,
      performance_standby_last_remote_wal: 0,
    },
  },
  done: { statuses: [204] },
} as const satisfies Record<string, DocumentedAnswer>
