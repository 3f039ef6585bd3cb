import { z } from 'zod'
import type { DocumentedAnswer } from '../../../http/resource/resource.ts'

/** Schemas and examples of the responses, for the OpenAPI document. docs/contract/kv.md */

const text = z.string()
const count = z.int()
const time = z.iso.datetime()
/** Empty for never. */
const deletionTime = text.describe('When the version is deleted, or was; empty for never')
const notes = z.record(text, text).nullable()
const anyObject = z.object({}).loose()

const version = z.object({
  created_time: time,
  custom_metadata: notes,
  deletion_time: deletionTime,
  destroyed: z.boolean(),
  version: count,
})
const exampleVersion = {
  created_time: '2026-01-01T12:00:00.123Z',
  custom_metadata: { owner: 'team-a' },
  deletion_time: '',
  destroyed: false,
  version: 3,
}
const exampleData = { username: 'shop', password: 'secret' }

const actor = z.object({ actor: text, client_id: text, entity_id: text, operation: text })
const exampleActor = {
  actor: 'jwt-ci',
  client_id: '4f0c7d52-98b1-4a5e-8a0d-2b6a7c1e9f34',
  entity_id: '4f0c7d52-98b1-4a5e-8a0d-2b6a7c1e9f34',
  operation: 'update',
}
const metadata = z.object({
  cas_required: z.boolean(),
  created_time: time,
  current_metadata_version: count,
  current_version: count,
  custom_metadata: notes,
  delete_version_after: text,
  effective_delete_version_after: text.describe('The shorter of those of the key and the mount; `0s`: none'),
  effective_max_versions: count.describe('The larger of those of the key and the mount, or 10'),
  last_updated_by: actor,
  max_versions: count,
  metadata_cas_required: z.boolean(),
  oldest_version: count,
  updated_time: time,
  versions: z.record(
    text,
    z.object({
      created_by: actor,
      created_time: time,
      deleted_by: actor.nullable(),
      deletion_time: deletionTime,
      destroyed: z.boolean(),
    }),
  ),
})
const exampleMetadata = {
  cas_required: false,
  created_time: '2026-01-01T12:00:00.123Z',
  current_metadata_version: 1,
  current_version: 3,
  custom_metadata: { owner: 'team-a' },
  delete_version_after: '0s',
  effective_delete_version_after: '0s',
  effective_max_versions: 5,
  last_updated_by: exampleActor,
  max_versions: 5,
  metadata_cas_required: false,
  oldest_version: 0,
  updated_time: '2026-01-02T08:30:00Z',
  versions: {
    '3': {
      created_by: exampleActor,
      created_time: '2026-01-02T08:30:00Z',
      deleted_by: null,
      deletion_time: '',
      destroyed: false,
    },
  },
}

/** Of calls that refuse to change another state of a secret than the one that the client knows. */
const onlyIfSame = {
  requestHeaders: {
    'If-Match': 'Tag of the secret: the call is refused with 412 if it has another one, or does not exist',
  },
}

export const kvAnswers = {
  entry: { output: anyObject, example: exampleData },
  data: {
    output: z.object({ data: anyObject.nullable(), metadata: version }),
    example: { data: exampleData, metadata: exampleVersion },
    statuses: [200, 304],
    requestHeaders: { 'If-None-Match': 'Tag of the secret: 304 while it is the same' },
    headers: {
      ETag: 'Tag of the secret: a request that sends it as If-None-Match gets 304 until it changes',
    },
  },
  written: {
    ...onlyIfSame,
    output: version.extend({ generated: z.array(text).optional() }),
    example: { ...exampleVersion, generated: ['password'] },
  },
  version: { output: version, example: exampleVersion },
  subkeys: {
    output: z.object({ subkeys: anyObject.nullable(), metadata: version }),
    example: { subkeys: { username: null, password: null }, metadata: exampleVersion },
  },
  metadata: { output: metadata, example: exampleMetadata },
  detailed: {
    output: z.object({ keys: z.array(text), key_info: z.record(text, z.union([metadata, z.object({})])) }),
    example: { keys: ['db', 'team/'], key_info: { db: exampleMetadata, 'team/': {} } },
  },
  config: {
    output: z.object({
      cas_required: z.boolean(),
      delete_version_after: text,
      effective_max_versions: count,
      max_versions: count,
      metadata_cas_required: z.boolean(),
    }),
    example: {
      cas_required: false,
      delete_version_after: '0s',
      effective_max_versions: 10,
      max_versions: 0,
      metadata_cas_required: false,
    },
  },
  maybeWarned: { ...onlyIfSame, statuses: [204, 200] },
  changed: onlyIfSame,
} satisfies Record<string, DocumentedAnswer>
