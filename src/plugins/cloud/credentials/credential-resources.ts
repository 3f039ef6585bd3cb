import { z } from 'zod'
import { checkMayReach, lowerCase, type Resource, resource } from '../../../http/resource/resource.ts'
import { boolField } from '../../../lib/text/fields.ts'
import type { CloudEngine } from '../engine.ts'
import { debrisObject } from '../intents/debris.ts'
import { credentialFields, readinessOf } from './issue-credential.ts'
import { reapedObject } from './reaper.ts'

const text = z.string()

const [lease, time] = ['cloud/creds/deploy/4PPS0fGv9cDqWmQ3cHqTzSxk', '2026-05-05T06:07:08Z']
const application = {
  kind: 'app',
  id: 'b1f0a3de-3b0c-44f7-8c1c-6f4b8d7a2f10',
  name: 'gatehouse-deploy-1c0f6b7e-2e6e-4b5e-9a33-0c8c7a1f4d52',
}

const issuedAnswer = {
  output: z.object({
    client_id: text,
    client_secret: text.optional(),
    tenant_id: text.optional(),
    certificate: text.optional(),
    private_key: text.optional(),
    certificate_expiration: text.optional(),
    client_assertion: text.optional(),
    client_assertion_type: text.optional(),
    token_endpoint: text.optional(),
    expires_in: z.int().optional(),
  }),
  example: {
    client_id: '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10',
    client_secret: 'Xw.8Q~mTq0sB3v5r1dYkLz7cPaEoNfGhJuIiKx2S',
  },
}
const debrisAnswer = {
  output: z.object({ objects: z.array(debrisObject) }),
  example: { objects: [{ ...application, since: time, tries: 2, error: 'it is not found by its name' }] },
}
const reapAnswer = {
  output: z.object({ objects: z.array(reapedObject), deleted: z.int() }),
  example: {
    objects: [{ ...application, created: time, reason: 'no lease, role or request owns it' }],
    deleted: 0,
  },
}
const checkAnswer = {
  output: z.object({
    ok: z.boolean(),
    checks: z.array(
      z.object({ name: text, ok: z.boolean(), detail: text, fix: text.describe('Empty if it is ok') }),
    ),
  }),
  example: {
    ok: true,
    checks: [{ name: 'clock_offset', ok: true, detail: 'upstream is 0 s ahead', fix: '' }],
  },
}
const whoisAnswer = {
  output: z.object({
    lease_id: text,
    role: text,
    entity_id: text,
    display_name: text,
    issue_time: text,
    expire_time: text,
  }),
  example: {
    lease_id: lease,
    role: 'deploy',
    entity_id: '7d2c1b5e-0f43-1c3a-6a52-4f0a9a1f3c77',
    display_name: 'jwt-build-7',
    issue_time: time,
    expire_time: '2026-05-05T07:07:08Z',
  },
}

const reapFields = z.object({
  dry_run: boolField.default(true).describe('Delete nothing, only report what would be deleted'),
})

/**
 * Credentials, checks and clean-up. docs/contract/cloud.md#credentials, docs/contract/cloud.md#undo,
 * docs/contract/cloud.md#preflight
 */
export function credentialResources({ credentials, federated }: CloudEngine): Resource[] {
  return [
    resource('/creds/:name', {
      help: 'A credential of a role, revoked with its lease.',
      issuesCredentials: true,
      canonical: lowerCase,
      read: {
        summary: 'Get a credential',
        input: credentialFields,
        ...issuedAnswer,
        handle: async ({ call, mount, caller, params: { name: role }, input, whenGone }) =>
          (await federated.issues(mount, role))
            ? federated.assertion(mount, role, readinessOf(mount, input), call.requestId)
            : credentials.make({ call, mount, caller, role, input, whenGone }),
      },
    }),
    resource('/config/check', {
      help: 'Whether the root credential has the rights it needs.',
      read: {
        summary: 'Check the root credential: permissions, end of its secret, clock, quota',
        ...checkAnswer,
        handle: async (exchange) => {
          checkMayReach(exchange, { operation: 'read', path: 'config' })
          return { data: await credentials.preflight(exchange.mount, exchange.call.requestId) }
        },
      },
    }),
    resource('/whois/:client_id', {
      help: 'Who requested a credential.',
      read: {
        summary: 'Find the lease and the requester of a client id',
        ...whoisAnswer,
        handle: async ({ mount, params }) => ({ data: await credentials.whois(mount, params.client_id) }),
      },
    }),
    resource('/debris', {
      help: 'Objects upstream that still have to be removed.',
      whileRemoved: true,
      read: {
        summary: 'List the objects upstream that still have to be removed',
        ...debrisAnswer,
        handle: async ({ mount }) => ({ data: { objects: await credentials.debris(mount) } }),
      },
    }),
    resource('/reap', {
      help: 'Objects of this mount that have no owner.',
      whileRemoved: true,
      write: {
        summary: 'Find the unowned applications and the debris of this mount; delete them unless dry_run',
        input: reapFields,
        ...reapAnswer,
        handle: async ({ call, mount, input }) => ({
          data: await credentials.reap(mount, { dryRun: input.dry_run, correlationId: call.requestId }),
        }),
      },
    }),
  ]
}
