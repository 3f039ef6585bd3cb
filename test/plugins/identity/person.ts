import type { Client } from '../../support/client.ts'
import type { TestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'

export type Person = {
  readonly client: Client
  readonly token: string
  readonly entityId: string
  readonly accessor: string
}

const signer = aSigner('ES256')

/** Someone logged in by a JWT at `auth/people`, who may do anything below `identity/oidc/`. */
export async function aPerson(
  server: Pick<TestServer, 'root' | 'anonymous' | 'as'>,
  { sub = 'bob', claims = {} }: { sub?: string; claims?: object } = {},
): Promise<Person> {
  const { root } = server
  await root.write('sys/auth/people', { type: 'jwt' })
  await root.write('sys/policies/acl/oidc', {
    policy: 'path "identity/oidc/*" { capabilities = ["create", "read", "update", "delete", "list"] }',
  })
  await root.write('auth/people/config', { jwt_validation_pubkeys: [signer.pem] })
  await root.write('auth/people/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    token_policies: 'oidc',
    claim_mappings: { team: 'team' },
  })
  // far from any time a test clock may show
  const jwt = signer.sign({
    sub,
    aud: 'gate',
    exp: 4_000_000_000,
    iat: 1_000_000_000,
    nbf: 1_000_000_000,
    team: 'blue',
    ...claims,
  })
  const { body } = await server.anonymous.write('auth/people/login', { role: 'r', jwt })
  const token = String(body.auth?.client_token)
  const mounts = await root.read('sys/auth')
  return {
    client: server.as(token),
    token,
    entityId: String(body.auth?.entity_id),
    accessor: String(mounts.body['people/']?.accessor),
  }
}

/** What a JWT says, unchecked. */
export function saidBy(jwt: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header = '', claims = ''] = jwt
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('utf8'))
  return { header: JSON.parse(header), claims: JSON.parse(claims) }
}
