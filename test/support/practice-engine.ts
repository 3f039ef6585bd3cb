import { randomUUID } from 'node:crypto'
import type { Lease } from '../../src/core/leases/lease.ts'
import type { LeaseBackend } from '../../src/core/leases/lease-backend.ts'
import { fail, refuse } from '../../src/errors.ts'
import { resource, unknownPaths } from '../../src/http/resource.ts'
import type { Engine } from '../../src/server.ts'

/** What a role grants; spans in seconds, 0 for the mount's. */
export type PracticeRole = { ttl: number; maxTtl: number; renewable: boolean }

export type PracticeOptions = {
  /** Where credentials are made; without one they are made up, and ending them costs nothing. */
  providerUrl?: string
  /** May be changed while the engine runs. */
  roles: Map<string, PracticeRole>
}

/** A secrets engine to practise leases with: `GET creds/:role` gives a credential of a provider. */
export function practiceEngine({ providerUrl, roles }: PracticeOptions): Engine {
  return {
    type: 'practice',
    backend: practiceBackend({ roles, ...(providerUrl === undefined ? {} : { providerUrl }) }),
    resources: [
      resource('/creds/:role', {
        help: 'Get a credential.',
        read: {
          summary: 'Get a credential',
          handle: async ({ params }) => {
            const role = roles.get(params.role)
            if (role === undefined) throw refuse('invalid', `role "${params.role}" does not exist`)
            const credential = providerUrl === undefined ? randomUUID() : await made(providerUrl)
            return { data: { credential }, secret: { ...role, internal: { credential, role: params.role } } }
          },
        },
      }),
      unknownPaths(),
    ],
  }
}

/** Renews by the role as it is now; ends credentials at the provider. */
export function practiceBackend({ providerUrl, roles }: PracticeOptions): LeaseBackend {
  return {
    renew: async ({ internal }) => {
      const role = roles.get(String(internal['role']))
      return role && { ttl: role.ttl, maxTtl: role.maxTtl }
    },
    revoke: async (lease, signal) => {
      if (providerUrl !== undefined) await ended(providerUrl, lease, signal)
    },
  }
}

async function made(providerUrl: string): Promise<string> {
  const response = await fetch(`${providerUrl}/credentials`, {
    method: 'POST',
    signal: AbortSignal.timeout(10_000),
  })
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null || !('id' in body))
    throw fail('upstream', 'the provider gave no credential')
  return String(body.id)
}

async function ended(providerUrl: string, { internal }: Lease, signal: AbortSignal): Promise<void> {
  const { status } = await fetch(`${providerUrl}/credentials/${internal['credential']}`, {
    method: 'DELETE',
    signal,
  }).catch((cause: unknown) => {
    throw fail('upstream', 'the provider cannot be reached', { cause })
  })
  if (status === 400) throw refuse('invalid', 'the provider refuses')
  if (status !== 204 && status !== 404) throw fail('upstream', `the provider answered ${status}`)
}
