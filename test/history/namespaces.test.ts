import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aLoginMount, type LoginMount } from '../plugins/identity/login-mount.ts'
import { type Client, inside } from '../support/client.ts'
import { errors, notAccepted, notAllowed } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

// Ways around the walls between namespaces that servers of this kind have had.

let server: TestServer
let root: Client

const everything =
  'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo", "patch", "scan"] }'

beforeAll(async () => {
  server = await startTestServer()
  root = server.root
  for (const name of ['team', 'team2', 'tea', 'TEAM']) await root.write(`sys/namespaces/${name}`)
  await root.write('sys/namespaces/inner', {}, inside('team'))
})
afterAll(() => server[Symbol.asyncDispose]())

async function tokenIn(namespace: string, rules: string): Promise<{ id: string; client: Client }> {
  await root.write('sys/policies/acl/mine', { policy: rules }, inside(namespace))
  const { body } = await root.write('auth/token/create', { policies: ['mine'], ttl: '1h' }, inside(namespace))
  const id = String(body.auth?.client_token)
  return { id, client: server.as(id) }
}

describe('the token of a namespace, with every right there', () => {
  test.each([
    { form: 'no namespace', path: 'sys/auth', namespace: '' },
    { form: 'the root by name', path: 'sys/auth', namespace: 'root' },
    { form: 'a slash', path: 'sys/auth', namespace: '/' },
    { form: 'up out of it', path: 'sys/auth', namespace: 'team/..' },
    { form: 'up beside it', path: 'sys/auth', namespace: 'team/../team2' },
    { form: 'a name that begins like it', path: 'sys/auth', namespace: 'team2' },
    { form: 'a name it begins with', path: 'sys/auth', namespace: 'tea' },
    { form: 'its name in capitals', path: 'sys/auth', namespace: 'TEAM' },
    { form: 'another one in the path', path: 'team2/sys/auth', namespace: '' },
    { form: 'another one, escaped', path: 'team2%2Fsys%2Fauth', namespace: '' },
    { form: 'the path of another one, after a slash', path: '%2Fteam2/sys/auth', namespace: '' },
    { form: 'its own name twice', path: 'team/sys/auth', namespace: 'team' },
    { form: 'its own name after a slash', path: '%2Fteam/sys/auth', namespace: '' },
  ])('changes nothing through $form', async ({ path, namespace }) => {
    const { client } = await tokenIn('team', everything)

    for (const answer of [
      await client.read(path, inside(namespace)),
      await client.write(
        path.replace('auth', 'policies%2Facl%2Fx'),
        { policy: everything },
        inside(namespace),
      ),
      await client.call('LIST', path.replace('auth', 'policies%2Facl'), undefined, inside(namespace)),
    ]) {
      expect([403, 404]).toContain(answer.status)
      if (answer.status === 403) expect(answer.body).toEqual(notAllowed)
    }
    expect((await client.read('sys/auth', inside('team'))).status).toBe(200)
    expect((await client.read('inner/sys/auth', inside('team'))).status).toBe(200)
  })

  test('changes nothing above its namespace by an id from there', async () => {
    const { client } = await tokenIn('team', everything)
    const { body } = await root.write('auth/token/create', { policies: ['default'], ttl: '1h' })
    const { client_token: token, accessor } = body.auth ?? {}

    for (const namespace of ['', 'team']) {
      for (const verb of ['lookup', 'renew', 'revoke', 'revoke-orphan']) {
        expect(
          (await client.write(`auth/token/${verb}`, { token }, inside(namespace))).status,
          verb,
        ).not.toBe(200)
        await client.write(`auth/token/${verb}-accessor`, { accessor }, inside(namespace))
      }
    }
    expect((await server.as(String(token)).read('auth/token/lookup-self')).body.data).toMatchObject({
      accessor,
    })
  })
})

describe('a locked namespace', () => {
  const refusal = errors(
    'API access to this namespace has been locked by an administrator - "team/" must be unlocked to gain access.',
  )
  let own: { id: string; client: Client }
  let ids: { token: string; wrapping: string; lease: string }
  let mount: LoginMount
  let unlockKey: string

  beforeAll(async () => {
    own = await tokenIn('team', everything)
    mount = await aLoginMount(server, 'jwt', { namespace: 'team' })
    const { token } = await mount.login('alice')
    const { keys } = (await root.list('sys/leases/lookup/auth/jwt/login', inside('team'))).body.data ?? {}
    const wrapped = await root.write(
      'sys/wrapping/wrap',
      { a: 'b' },
      { headers: { 'X-Vault-Namespace': 'team', 'X-Vault-Wrap-TTL': '60' } },
    )
    ids = {
      token,
      wrapping: String(wrapped.body.wrap_info?.token),
      lease: `auth/jwt/login/${String(keys?.[0])}`,
    }
    unlockKey = String((await root.write('sys/namespaces/api-lock/lock/team')).body.data?.unlock_key)
  })
  afterAll(() => root.write('sys/namespaces/api-lock/unlock/team', { unlock_key: unlockKey }))

  const calls: { verb: string; path: string; namespace?: string; body?: (known: typeof ids) => object }[] = [
    ...['team', '/team/', './team', 'team2/../team', 'team/inner', 'team//inner'].map((namespace) => ({
      verb: 'GET',
      path: 'sys/auth',
      namespace,
    })),
    ...[
      'team/sys/auth',
      'team%2Fsys%2Fauth',
      'team/inner/sys/auth',
      'team/inner%2Fsys/auth',
      'team/nope',
      'team/',
    ].map((path) => ({ verb: 'GET', path })),
    { verb: 'GET', path: 'inner/sys/auth', namespace: 'team' },
    { verb: 'LIST', path: 'team/sys/policies/acl' },
    { verb: 'SCAN', path: 'team/sys/namespaces' },
    { verb: 'GET', path: 'team/sys/auth?help=1' },
    { verb: 'GET', path: 'team/sys/internal/ui/mounts' },
    { verb: 'GET', path: 'team/identity/oidc/.well-known/keys' },
    { verb: 'POST', path: 'team/auth/jwt/login', body: () => ({ role: 'any', jwt: 'x.y.z' }) },
    { verb: 'GET', path: 'team/sys/namespaces/api-lock/unlock' },
    { verb: 'POST', path: 'team/sys/namespaces/api-lock/unlocked' },
    { verb: 'POST', path: 'team/sys/namespaces/api-lock/lock' },
    { verb: 'POST', path: 'auth/token/lookup', body: ({ token }) => ({ token }) },
    { verb: 'POST', path: 'auth/token/renew', body: ({ token }) => ({ token }) },
    { verb: 'POST', path: 'sys/leases/lookup', body: ({ lease }) => ({ lease_id: lease }) },
    { verb: 'POST', path: 'sys/leases/renew', body: ({ lease }) => ({ lease_id: lease }) },
    { verb: 'POST', path: 'sys/wrapping/unwrap', body: ({ wrapping }) => ({ token: wrapping }) },
    { verb: 'POST', path: 'sys/wrapping/lookup', body: ({ wrapping }) => ({ token: wrapping }) },
  ]

  test.each(calls)(
    '$verb $path in $namespace is refused, to all',
    async ({ verb, path, namespace, body }) => {
      const options = namespace === undefined ? {} : inside(namespace)

      for (const client of [root, own.client, server.anonymous]) {
        const answer = await client.call(verb, path, body?.(ids), options)
        expect([answer.status, answer.body]).toEqual([503, refusal])
      }
    },
  )

  test.each(['lookup-self', 'renew-self', 'revoke-self'])('%s from outside is refused', async (path) => {
    for (const namespace of ['', 'team', 'team2']) {
      const answer =
        path === 'lookup-self'
          ? await own.client.read(`auth/token/${path}`, inside(namespace))
          : await own.client.write(`auth/token/${path}`, {}, inside(namespace))
      expect([answer.status, answer.body]).toEqual([503, refusal])
    }
  })

  test('does not answer in the name of another, which stays open', async () => {
    expect((await root.read('sys/auth', inside('team2'))).status).toBe(200)
    expect((await root.read('sys/auth', inside('TEAM'))).status).toBe(200)
    expect(
      (
        await server.anonymous.write(
          'sys/namespaces/api-lock/unlock',
          { unlock_key: unlockKey },
          inside('team'),
        )
      ).body,
    ).toEqual(notAccepted)
    expect((await own.client.write('sys/namespaces/api-lock/unlock/inner', {}, inside('team'))).body).toEqual(
      errors('namespace "team/inner/" is not locked'),
    )
    expect((await root.read('sys/auth', inside('team'))).body).toEqual(refusal)
  })
})
