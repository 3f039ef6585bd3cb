import { z } from 'zod'
import { exampleSettings, shownTokenFields } from '../../core/tokens/store/token-fields.ts'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'
import { roleFields } from './role.ts'

const text = z.string()
const accessor = '84896a0c-1347-aa90-a4f6-aca8b7558780'

const madeSecretId = {
  output: z.object({
    secret_id: text,
    secret_id_accessor: text,
    secret_id_num_uses: z.int(),
    secret_id_ttl: z.int(),
  }),
  example: {
    secret_id: '841771dc-11c9-bbc7-bcac-6a3945a69cd9',
    secret_id_accessor: accessor,
    secret_id_num_uses: 1,
    secret_id_ttl: 600,
  },
}

/** The response to a lookup by an accessor that is unknown. */
export const noAccessor = {
  description: 'The role has no secret id with this accessor',
  output: z.object({ error: text }),
  example: { error: `failed to find accessor entry for secret_id_accessor: "${accessor}"` },
}

const shownSecretId = z.object({
  secret_id_accessor: text,
  secret_id_num_uses: z.int(),
  secret_id_ttl: z.int(),
  creation_time: text,
  expiration_time: text,
  last_updated_time: text,
  metadata: z.record(text, text),
  cidr_list: z.array(text),
  token_bound_cidrs: z.array(text),
})
const exampleSecretId = {
  secret_id_accessor: accessor,
  secret_id_num_uses: 1,
  secret_id_ttl: 600,
  creation_time: '2026-11-23T09:00:00Z',
  expiration_time: '2026-11-23T09:10:00Z',
  last_updated_time: '2026-11-23T09:00:00Z',
  metadata: { team: 'shop' },
  cidr_list: [],
  token_bound_cidrs: [],
}

/** The responses of `auth/approle/…`, for the API document. docs/contract/approle.md */
export const answers = {
  accessors: { example: { keys: [accessor] } },
  role: {
    output: roleFields
      .omit({ role_id: true, bound_cidr_list: true })
      .extend({ secret_id_bound_cidrs: z.array(text).nullable() }),
    example: {
      bind_secret_id: true,
      local_secret_ids: false,
      secret_id_bound_cidrs: null,
      secret_id_num_uses: 1,
      secret_id_ttl: 600,
      ...shownTokenFields(exampleSettings),
    },
  },
  madeSecretId,
  search: {
    output: z.object({
      keys: z.array(text).describe('Accessors'),
      key_info: z.record(text, shownSecretId),
      next: text.describe('What to send as `after` for more; empty at the end'),
    }),
    example: { keys: [accessor], key_info: { [accessor]: exampleSecretId }, next: '' },
  },
  findings: {
    output: z.object({ findings: z.array(z.object({ role: text, code: text, field: text, text })) }),
    example: {
      findings: [
        {
          role: 'build',
          code: 'login_metadata_writable',
          field: 'metadata',
          text: 'policies [ci] may make secret ids, and so choose the metadata of their logins',
        },
      ],
    },
  },
  secretId: { output: shownSecretId, example: exampleSecretId, statuses: [200, 204] },
  inBackground: { statuses: [202, 200] },
} as const satisfies Record<string, DocumentedAnswer>
