import { describe, expect, test } from 'vitest'
import { aProgram } from '../../plugins/jwt-auth/cel/desk.ts'
import { people } from '../../plugins/jwt-auth/cel/gitlab-programs.ts'
import { aSigner } from '../../plugins/jwt-auth/signer.ts'
import type { Answer } from '../../support/client.ts'
import { errors } from '../../support/error-bodies.ts'
import { parameter, written } from '../../support/jwt-desk.ts'
import { startOneServer, type TestServer } from '../../support/one-server.ts'
import { startAlternatingServers, startReplicas } from '../../support/replicas.ts'

const issuer = 'https://gitlab.example.com'
const audience = 'secrets'
const organization = 'org_1'
const group = `${organization}/group_2`
const project = `${group}/project_3`
const signer = aSigner('RS256', { kid: 'gl' })

const jwtOf = (claims: object): string => {
  const now = Math.floor(Date.now() / 1000)
  return signer.sign({ iss: issuer, aud: audience, iat: now, nbf: now - 5, exp: now + 300, ...claims })
}

const person = {
  sub: 'user:alice',
  secrets_manager_scope: 'user',
  project_id: 3,
  user_id: '7',
  role_id: 50,
  member_role_id: null,
  groups: [11, 12],
}

type Asked = { readonly login: string; readonly role: string; readonly jwt: string }

/** A request as GitLab sends it: the name of a parameter's header says nothing of its key. */
const send = (
  { anonymous }: TestServer,
  { login, role, jwt }: Asked,
  [method, path, body]: readonly [string, string, object?],
): Promise<Answer> =>
  anonymous.call(method, path, body, {
    headers: {
      'X-Vault-Inline-Auth-Path': login,
      'X-Vault-Inline-Auth-Parameter-token': parameter('jwt', jwt),
      'X-Vault-Inline-Auth-Parameter-role': parameter('role', role),
      'Content-Type': 'application/json',
    },
  })

const policy = JSON.stringify({
  path: {
    'secrets/kv/data/explicit/*': { capabilities: ['create', 'update', 'read'] },
    'secrets/kv/metadata/explicit/*': { capabilities: ['create', 'update', 'read', 'delete', 'list'] },
    'secrets/kv/detailed-metadata/explicit': { capabilities: ['list'] },
    'secrets/kv/detailed-metadata/explicit/*': { capabilities: ['list'] },
  },
})
const role = {
  name: 'all_users',
  expiration_leeway: 150,
  not_before_leeway: 150,
  clock_skew_leeway: 60,
  bound_audiences: [audience, 'other'],
  cel_program: aProgram(people),
}

const isRefusedLogin = ({ headers }: Answer) => headers['x-vault-inline-auth-failed'] === 'true'

/** GitLab's own mount, whose role `app` may do everything. */
async function prepare({ root }: TestServer): Promise<void> {
  const all = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "patch", "sudo"] }'
  await written(root, 'sys/policies/acl/rails', { policy: all })
  await written(root, 'sys/auth/gitlab_rails_jwt', { type: 'jwt' })
  await written(root, 'auth/gitlab_rails_jwt/config', {
    bound_issuer: issuer,
    jwt_validation_pubkeys: [signer.pem],
  })
  await written(root, 'auth/gitlab_rails_jwt/role/app', {
    role_type: 'jwt',
    bound_audiences: audience,
    user_claim: 'sub',
    token_policies: 'rails',
    bound_claims: { secrets_manager_scope: 'privileged' },
    token_ttl: '15m',
  })
}

async function startWithPostgres(): Promise<TestServer> {
  const { servers, ...replicas } = await startReplicas({ count: 1 })
  const [server] = servers
  if (server === undefined) throw new Error('no server was started')
  return { ...server, [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose]() }
}

describe.each([
  { name: 'SQLite', start: () => startOneServer({}) },
  { name: 'PostgreSQL', start: startWithPostgres },
  { name: 'two servers', start: () => startAlternatingServers({}) },
])('on $name', ({ start }) => {
  test("GitLab's sequence passes, each request with its login", async () => {
    await using server = await start()
    await prepare(server)
    const rails = {
      login: 'auth/gitlab_rails_jwt/login',
      role: 'app',
      jwt: jwtOf({ sub: 'rails', secrets_manager_scope: 'privileged' }),
    }
    const asRails = (...request: [string, string, object?]) => send(server, rails, request)
    const ofUser = (claims: object = {}): Asked => ({
      login: `${project}/auth/user_jwt/cel/login`,
      role: 'all_users',
      jwt: jwtOf({ ...person, ...claims }),
    })
    const asUser = (...[method, path, body]: [string, string, object?]) =>
      send(server, ofUser(), [method, `${project}/${path}`, body])

    // 1: namespaces, which may be there already
    for (const [parent, name] of [
      ['', organization],
      [`${organization}/`, 'group_2'],
      [`${group}/`, 'project_3'],
    ])
      for (const body of [{ custom_metadata: null }, {}]) {
        const made = await asRails('POST', `${parent}sys/namespaces/${name}`, body)
        expect([made.status, made.body.data?.['path']]).toEqual([200, `${parent}${name}/`])
      }

    // 2 to 4: mounts
    const mounts = [
      ['sys/mounts/secrets/kv', 'kv-v2', 'secrets/kv/'],
      ['sys/auth/user_jwt', 'jwt', 'user_jwt/'],
      ['sys/auth/testing/pipeline_jwt', 'jwt', 'testing/pipeline_jwt/'],
    ]
    for (const [path, type, mount] of mounts) {
      expect((await asRails('POST', `${project}/${path}`, { type })).status).toBe(204)
      const again = await asRails('POST', `${project}/${path}`, { type })
      expect([again.status, again.body]).toEqual([400, errors(`path is already in use at ${mount}`)])
    }
    const config = { bound_issuer: issuer, jwt_validation_pubkeys: [signer.pem] }
    expect((await asRails('POST', `${project}/auth/user_jwt/config`, config)).status).toBe(204)

    // 5 and 6: the CEL role
    const rolePath = `${project}/auth/user_jwt/cel/role`
    const madeRole = await asRails('POST', `${rolePath}/all_users`, role)
    expect([madeRole.status, madeRole.body.data?.['cel_program']]).toEqual([200, role.cel_program])
    expect(madeRole.body.warnings).toEqual([expect.stringContaining('[name]')])
    const readRole = await asRails('GET', `${rolePath}/all_users`)
    expect([readRole.status, readRole.body.data]).toEqual([200, expect.objectContaining(role)])
    expect([(await asRails('GET', `${rolePath}/nope`)).status]).toEqual([404])

    // 7: policies
    const policies = `${project}/sys/policies/acl`
    expect((await asRails('POST', `${policies}/users/roles/50`, { policy })).status).toBe(204)
    const readPolicy = await asRails('GET', `${policies}/users/roles/50`)
    expect([readPolicy.status, readPolicy.body.data?.['policy']]).toEqual([200, policy])
    expect((await asRails('GET', `${policies}/users/roles/51`)).status).toBe(404)
    const keysAt = async (path: string) =>
      (await asRails('GET', `${policies}${path}?list=true`)).body.data?.keys
    expect(await keysAt('')).toEqual(['default', 'users/roles/50'])
    expect(await keysAt('/users')).toEqual(['users/roles/50'])
    expect((await asRails('GET', `${policies}/zzz?list=true`)).status).toBe(404)
    expect((await asRails('DELETE', `${policies}/users/roles/51`)).status).toBe(204)

    // 8 to 10: a secret
    const secret = 'secrets/kv/data/explicit/DB'
    const first = { data: { value: 's3cret' }, options: { cas: 0 } }
    expect((await asUser('POST', secret, first)).status).toBe(200)
    expect((await asUser('POST', secret, first)).body).toEqual(
      errors('check-and-set parameter did not match the current version'),
    )
    expect((await asUser('POST', secret, { ...first, options: null })).status).toBe(200)
    const metadata = 'secrets/kv/metadata/explicit/DB'
    for (const metadata_cas of [null, 1]) {
      const body = { custom_metadata: { environment: 'prod' }, metadata_cas }
      expect((await asUser('POST', metadata, body)).status).toBe(204)
    }
    expect((await asUser('GET', metadata)).body.data).toMatchObject({
      current_version: 2,
      custom_metadata: { environment: 'prod' },
    })
    expect((await asUser('GET', 'secrets/kv/detailed-metadata/explicit?list=true')).body.data).toMatchObject({
      keys: ['DB'],
      key_info: { DB: { current_version: 2 } },
    })

    // 11 and 12: refusals of the login, and of the request
    const now = Math.floor(Date.now() / 1000)
    for (const [claims, text] of [
      [{ project_id: 4 }, /blocked authorization with message: token project_id does not match role base$/],
      [{ aud: 'zz' }, /^error validating token: invalid audience/],
      [{ aud: [audience] }, /blocked authorization with message: audience validation failed$/],
      [{ exp: now - 100 }, /token is expired$/],
    ] as const) {
      const refused = await send(server, ofUser(claims), ['GET', `${project}/${secret}`])
      expect([refused.status, isRefusedLogin(refused)]).toEqual([400, true])
      expect(refused.body.errors).toEqual([expect.stringMatching(text)])
    }
    const denied = await asUser('GET', 'sys/mounts')
    expect([denied.status, denied.body, isRefusedLogin(denied)]).toEqual([
      403,
      errors('1 error occurred:\n\t* permission denied\n\n'),
      false,
    ])

    // 13: a login with a token
    const login = await server.anonymous.write(`${project}/auth/user_jwt/cel/login`, {
      role: 'all_users',
      jwt: ofUser().jwt,
    })
    expect(login.body.auth).toMatchObject({ lease_duration: 300, metadata: { project_id: '3', coded: '37' } })
    const user = server.as(String(login.body.auth?.client_token))
    expect((await user.read('auth/token/lookup-self')).body.data).toMatchObject({
      display_name: 'org_1-group_2-project_3-auth-user_jwt-gitlab-user:7',
    })
    const capabilities = await user.write(`${project}/sys/capabilities-self`, {
      paths: [secret, 'sys/mounts'],
    })
    expect(capabilities.body.data).toMatchObject({
      [secret]: ['create', 'read', 'update'],
      'sys/mounts': ['deny'],
    })
    expect((await user.write(`${project}/auth/token/revoke-self`)).status).toBe(204)

    // 14: the end of a secret and of its project
    expect((await asUser('DELETE', metadata)).status).toBe(204)
    for (const path of ['auth/user_jwt/cel/role/all_users', 'sys/auth/user_jwt', 'sys/mounts/secrets/kv'])
      expect((await asRails('DELETE', `${project}/${path}`)).status).toBe(204)
    const removed = await asRails('DELETE', `${group}/sys/namespaces/project_3`)
    expect([removed.status, removed.body.data]).toEqual([200, { status: 'in-progress' }])
    await expect
      .poll(async () => (await asRails('DELETE', `${group}/sys/namespaces/project_3`)).body.warnings)
      .toEqual(['requested namespace does not exist'])

    // 15 and 16: the mount of GitLab's own, and its recovery keys
    const own = 'auth/gitlab_rails_jwt/role/app'
    const update = { role_type: 'jwt', bound_audiences: audience }
    expect((await asRails('POST', own, update)).status).toBe(204)
    expect((await asRails('GET', own)).body.data).toMatchObject({ token_policies: ['rails'], token_ttl: 900 })
    const recovery = { secret_shares: 1, secret_threshold: 1 }
    expect((await asRails('POST', 'sys/rotate/recovery/init', recovery)).body.data).toMatchObject({
      complete: true,
    })
    expect((await asRails('DELETE', 'sys/rotate/recovery/init')).status).toBe(204)

    // nothing is left of the logins in requests
    const accessors = await server.root.list('auth/token/accessors')
    expect(accessors.body.data?.keys).toHaveLength(1)
  })
})
