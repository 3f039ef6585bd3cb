import { sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, usualConnections } from './bench-case.ts'
import { aMessage } from './message.ts'

/** A write of configuration. `of` returns the path and the body of the request with this number. */
type Kind = {
  readonly name: string
  readonly method?: string
  of(index: number): { readonly path: string; readonly body?: object }
  /** A request that must have been made before that with the same number. */
  before?(index: number): { readonly path: string; readonly body: object }
}

const policy = 'path "kv/data/team/*" { capabilities = ["read", "list"] }'
const jwtRole = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['bench'], token_policies: ['bench'] }
const approleRole = { token_policies: ['bench'], token_ttl: '1h' }
const user = { token_policies: 'bench' }
const oidcRole = { key: 'bench', ttl: '1h' }

const kinds: readonly Kind[] = [
  { name: 'policy', of: (n) => ({ path: `sys/policies/acl/bench-${n}`, body: { policy } }) },
  { name: 'policy, delete', method: 'DELETE', of: (n) => ({ path: `sys/policies/acl/bench-${n}` }) },
  { name: 'jwt role', of: (n) => ({ path: `auth/jwt/role/bench-${n}`, body: jwtRole }) },
  { name: 'jwt role, delete', method: 'DELETE', of: (n) => ({ path: `auth/jwt/role/bench-${n}` }) },
  { name: 'jwt role, the same', of: () => ({ path: 'auth/jwt/role/bench', body: jwtRole }) },
  { name: 'approle role', of: (n) => ({ path: `auth/approle/role/bench-${n}`, body: approleRole }) },
  { name: 'approle secret id', of: () => ({ path: 'auth/approle/role/bench/secret-id', body: {} }) },
  {
    name: 'approle role, one field',
    of: (n) => ({ path: `auth/approle/role/bench-${n}/token-ttl`, body: { token_ttl: 600 } }),
  },
  { name: 'approle role, the same', of: () => ({ path: 'auth/approle/role/bench', body: approleRole }) },
  { name: 'approle role, delete', method: 'DELETE', of: (n) => ({ path: `auth/approle/role/bench-${n}` }) },
  {
    name: 'userpass policies',
    before: (n) => ({ path: `auth/userpass/users/bench-${n}`, body: { ...user, password_hash: hash } }),
    of: (n) => ({ path: `auth/userpass/users/bench-${n}/policies`, body: user }),
  },
  {
    name: 'userpass user, delete',
    method: 'DELETE',
    of: (n) => ({ path: `auth/userpass/users/bench-${n}` }),
  },
  { name: 'kv data', of: (n) => ({ path: `kv/data/bench/${n}`, body: { data: { password: `p-${n}` } } }) },
  {
    name: 'kv data, the same',
    of: (n) => ({ path: 'kv/data/same', body: { data: { password: `p-${n}` } } }),
  },
  {
    name: 'kv metadata',
    of: (n) => ({ path: `kv/metadata/bench/${n}`, body: { custom_metadata: { owner: `team-${n}` } } }),
  },
  {
    name: 'kv metadata, the same',
    of: (n) => ({ path: 'kv/metadata/same', body: { custom_metadata: { owner: `team-${n}` } } }),
  },
  { name: 'kv config', of: (n) => ({ path: 'kv/config', body: { max_versions: 5 + (n % 2) } }) },
  { name: 'kv metadata, delete', method: 'DELETE', of: (n) => ({ path: `kv/metadata/bench/${n}` }) },
  { name: 'oidc role', of: (n) => ({ path: `identity/oidc/role/bench-${n}`, body: oidcRole }) },
  { name: 'oidc role, delete', method: 'DELETE', of: (n) => ({ path: `identity/oidc/role/bench-${n}` }) },
  { name: 'oidc key', of: (n) => ({ path: `identity/oidc/key/bench-${n}`, body: { algorithm: 'ES256' } }) },
  {
    name: 'oidc key, change',
    of: (n) => ({ path: `identity/oidc/key/bench-${n}`, body: { verification_ttl: '2h' } }),
  },
  { name: 'oidc key, delete', method: 'DELETE', of: (n) => ({ path: `identity/oidc/key/bench-${n}` }) },
  { name: 'token role', of: (n) => ({ path: `auth/token/roles/bench-${n}`, body: { orphan: true } }) },
  { name: 'token', of: () => ({ path: 'auth/token/create', body: { ttl: '1h', policies: ['default'] } }) },
  {
    name: 'group',
    of: (n) => ({ path: 'identity/group', body: { name: `bench-${n}`, policies: ['bench'] } }),
  },
  {
    name: 'group, change',
    of: (n) => ({ path: `identity/group/name/bench-${n}`, body: { metadata: { owner: `t-${n}` } } }),
  },
  { name: 'group, delete', method: 'DELETE', of: (n) => ({ path: `identity/group/name/bench-${n}` }) },
  { name: 'entity', of: (n) => ({ path: 'identity/entity', body: { name: `bench-${n}` } }) },
  {
    name: 'entity, change',
    of: (n) => ({ path: `identity/entity/name/bench-${n}`, body: { metadata: { owner: `t-${n}` } } }),
  },
  { name: 'entity, delete', method: 'DELETE', of: (n) => ({ path: `identity/entity/name/bench-${n}` }) },
  { name: 'mount', of: (n) => ({ path: `sys/mounts/bench-${n}`, body: { type: 'kv' } }) },
  { name: 'tune', of: (n) => ({ path: `sys/mounts/bench-${n}/tune`, body: { description: `mount ${n}` } }) },
  { name: 'unmount', method: 'DELETE', of: (n) => ({ path: `sys/mounts/bench-${n}` }) },
  { name: 'auth mount', of: (n) => ({ path: `sys/auth/bench-${n}`, body: { type: 'approle' } }) },
  {
    name: 'remount',
    of: (n) => ({ path: 'sys/remount', body: { from: `auth/bench-${n}`, to: `auth/moved-${n}` } }),
  },
  { name: 'auth mount, remove', method: 'DELETE', of: (n) => ({ path: `sys/auth/moved-${n}` }) },
  { name: 'namespace', of: (n) => ({ path: `sys/namespaces/bench-${n}`, body: {} }) },
  { name: 'namespace, remove', method: 'DELETE', of: (n) => ({ path: `sys/namespaces/bench-${n}` }) },
  {
    name: 'quota',
    of: (n) => ({ path: `sys/quotas/rate-limit/bench-${n}`, body: { rate: 1_000_000, path: `kv/${n}` } }),
  },
]

/** Not of a password, and cheap. */
const hash = '$2b$05$abcdefghijklmnopqrstuuWnFqjyAnCTf3Pd8qsIZ4hQeZ9eKpDuW'

const first = [
  { path: 'sys/auth/approle', body: { type: 'approle' } },
  { path: 'sys/auth/userpass', body: { type: 'userpass' } },
  { path: 'sys/mounts/kv', body: { type: 'kv-v2' } },
  { path: 'identity/oidc/key/bench', body: { algorithm: 'ES256', allowed_client_ids: ['*'] } },
  { path: 'auth/approle/role/bench', body: approleRole },
]

/**
 * Writes of configuration, each kind by itself, against the floor program's durable write of one sealed row.
 * A kind whose writes take a commit each has a small fraction of its rate.
 */
export async function writeCases({ url, rootToken: token, options }: BenchSetup): Promise<BenchCase[]> {
  for (const call of first) await sendSuccessfully(url, { method: 'POST', token, ...call })
  const count = (options.rounds + 1) * Math.min(options.freshSubjects, 640)
  const wanted = kinds.filter(({ name }) => (process.env.BENCH_KINDS ?? name).split(';').includes(name))
  for (const { before } of wanted) {
    if (before === undefined) continue
    let next = 0
    await Promise.all(
      Array.from({ length: usualConnections }, async () => {
        for (let at = next++; at < count; at = next++)
          await sendSuccessfully(url, { method: 'POST', token, ...before(at) })
      }),
    )
  }
  const floor = {
    method: 'POST',
    path: '/v1/sys/config/ui/custom-messages',
    once: true,
    variants: Array.from({ length: count }, (_, index) => ({ body: JSON.stringify(aMessage(index)) })),
  }
  return wanted.map(({ name, method = 'POST', of }) => ({
    name,
    connections: usualConnections,
    against: { contender: 'floor', requests: floor },
    ours: {
      method,
      path: '/',
      once: true,
      variants: Array.from({ length: count }, (_, index) => {
        const { path, body } = of(index)
        return { token, path: `/v1/${path}`, ...(body && { body: JSON.stringify(body) }) }
      }),
    },
  }))
}
