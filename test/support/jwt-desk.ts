import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { borrowServer } from './borrowed-server.ts'
import type { Answer, Client } from './client.ts'
import type { TestServer, TestServerOptions } from './start-server.ts'

export type Headers = Record<string, string | readonly string[]>

const prefix = 'X-Vault-Inline-Auth-'
const signer = aSigner('ES256')

export const issuer = 'https://ci.example.com'

/** The value of a header that names a field of a login and its value. */
export const parameter = (key: string, value: unknown): string =>
  Buffer.from(JSON.stringify({ key, value })).toString('base64url')

/** The same of any text. */
export const parameterOf = (text: string): string => Buffer.from(text).toString('base64url')

/** The headers of a login at a path, with its fields. */
export const inlineLogin = (path: string, fields: Record<string, unknown>, more: Headers = {}): Headers => ({
  [`${prefix}Path`]: path,
  ...Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [`${prefix}Parameter-${name}`, parameter(name, value)]),
  ),
  ...more,
})

export type JwtDesk = TestServer & {
  /** The key of the mount. */
  readonly pem: string
  /** A valid JWT for the role `dev`; `undefined` removes a claim. */
  jwt(claims?: Record<string, unknown>, header?: Record<string, unknown>): string
  /** Writes a role of the mount. */
  role(name: string, fields?: object): Promise<void>
  configure(fields: object): Promise<Answer>
  /** The headers of a login with the role `dev`; fields may be added or replaced, and those `undefined` are left out. */
  head(fields?: Record<string, unknown>, more?: Headers): Headers
  /** A request with a login in its headers, by default of the role `dev`. */
  ask(path: string, headers?: Headers, how?: { method?: string; body?: unknown }): Promise<Answer>
}

export type DeskOptions = TestServerOptions & { now?: () => number }

/**
 * A server with a mount `auth/jwt` with one key and the role `dev`, which may use the secrets at `kv/`: there is one at
 * `kv/x`.
 */
export const openJwtDesk = async ({ now, ...options }: DeskOptions = {}): Promise<JwtDesk> =>
  jwtDeskOn(await borrowServer(options), now)

/** The same on a server with an empty mount `auth/jwt` and without a mount `kv`. */
export async function jwtDeskOn(server: TestServer, now = Date.now): Promise<JwtDesk> {
  const desk: JwtDesk = {
    ...server,
    pem: signer.pem,
    jwt: (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => {
      const seconds = Math.floor(now() / 1000)
      const times = { iat: seconds, nbf: seconds - 5, exp: seconds + 600 }
      return signer.sign({ iss: issuer, sub: 'joe', aud: 'gate', ...times, ...claims }, header)
    },
    role: async (name: string, fields: object = {}) => {
      const usual = {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_audiences: ['gate'],
        token_policies: ['desk'],
      }
      await written(server.root, `auth/jwt/role/${name}`, { ...usual, ...fields })
    },
    configure: (fields: object) =>
      server.root.write('auth/jwt/config', {
        jwt_validation_pubkeys: [signer.pem],
        default_role: 'dev',
        ...fields,
      }),
    head: (fields: Record<string, unknown> = {}, more: Headers = {}) => {
      const all = Object.entries({ role: 'dev', jwt: desk.jwt(), ...fields })
      const sent = Object.fromEntries(all.filter(([, value]) => value !== undefined))
      return inlineLogin('auth/jwt/login', sent, more)
    },
    ask: (path: string, headers: Headers = desk.head(), { method = 'GET', body }: AskOptions = {}) =>
      server.anonymous.call(method, path, body, { headers }),
  }
  await written(server.root, 'sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  await written(server.root, 'sys/policies/acl/desk', {
    policy: 'path "kv/*" { capabilities = ["create", "read", "update", "delete", "list"] }',
  })
  await desk.configure({})
  await desk.role('dev')
  await written(server.root, 'kv/x', { a: '1' })
  return desk
}

type AskOptions = { method?: string; body?: unknown }

export async function written(root: Client, path: string, body: object): Promise<Answer> {
  const answer = await root.write(path, body)
  if (answer.status !== 204 && answer.status !== 200) throw new Error(`${path}: ${answer.text}`)
  return answer
}

/** Status, the first error, and whether the answer says that the login failed. */
export const outcomeOf = ({ status, body, headers }: Answer): readonly [number, string, boolean] => [
  status,
  String(body?.errors?.[0] ?? ''),
  headers['x-vault-inline-auth-failed'] === 'true',
]
