import type { Answer, Client } from '../../support/client.ts'
import type { TestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'

export type LoginMount = {
  readonly accessor: string
  /** Signs in. `claims` besides `sub`: `role_name` and `groups` become metadata and groups. */
  login(sub: string, claims?: object): Promise<Login>
}

type Login = {
  readonly answer: Answer
  readonly token: string
  readonly entityId: string
  readonly client: Client
}

const signer = aSigner('ES256')

/** Status and first error text of a response. */
export const verdict = ({ status, body }: Answer): string =>
  body?.errors === undefined ? String(status) : `${status} ${String(body.errors[0] ?? '')}`

/** A JWT mount at `auth/<path>` with one role, whose tokens carry `policies`. */
export async function aLoginMount(
  server: Pick<TestServer, 'root' | 'anonymous' | 'as'>,
  path: string,
  { policies = 'default', namespace = '' } = {},
): Promise<LoginMount> {
  const headers: Record<string, string> = namespace === '' ? {} : { 'X-Vault-Namespace': namespace }
  const { root } = server
  await root.write(`sys/auth/${path}`, { type: 'jwt' }, { headers })
  await root.write(`auth/${path}/config`, { jwt_validation_pubkeys: [signer.pem] }, { headers })
  const role = {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    token_policies: policies,
    claim_mappings: { team: 'team' },
    groups_claim: 'groups',
  }
  await root.write(`auth/${path}/role/r`, role, { headers })
  const mounts = await root.read('sys/auth', { headers })
  return {
    accessor: String(mounts.body.data?.[`${path}/`]?.accessor),
    login: async (sub, claims = {}) => {
      // far from any time a test clock may show
      const jwt = signer.sign({
        sub,
        aud: 'gate',
        exp: 4_000_000_000,
        iat: 1_000_000_000,
        nbf: 1_000_000_000,
        groups: [],
        ...claims,
      })
      const answer = await server.anonymous.write(`auth/${path}/login`, { role: 'r', jwt }, { headers })
      const token = String(answer.body?.auth?.client_token)
      return { answer, token, entityId: String(answer.body?.auth?.entity_id), client: server.as(token) }
    },
  }
}
