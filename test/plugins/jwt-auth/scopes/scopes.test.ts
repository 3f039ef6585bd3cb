import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enableAuditFile } from '../../../support/audit-file.ts'
import type { Client } from '../../../support/client.ts'
import { inside } from '../../../support/client.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  type Headers,
  inlineLogin,
  issuer,
  type JwtDesk,
  openJwtDesk,
  outcomeOf,
  written,
} from '../../../support/jwt-desk.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
let desk: JwtDesk

const policies = {
  wide: 'path "kv/*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }',
  narrow: 'path "kv/x" { capabilities = ["read"] }',
  closed: 'path "kv/closed" { capabilities = ["deny"] }',
  maker: `
    path "auth/token/create*" { capabilities = ["create", "update", "sudo"] }
    path "team/auth/token/create" { capabilities = ["create", "update", "sudo"] }
    path "auth/token/renew-accessor" { capabilities = ["update"] }
    path "sys/*" { capabilities = ["read", "list", "sudo"] }
    path "team/kv/*" { capabilities = ["read"] }`,
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>

beforeAll(async () => {
  folder = await temporaryFolder()
  desk = await openJwtDesk({ clock, now: () => clock.now(), settings: { AUDIT_DIRS: folder.path } })
  await desk.configure({ accept_as_token: true, bound_issuer: issuer })
  for (const [name, policy] of Object.entries(policies))
    await written(desk.root, `sys/policies/acl/${name}`, { policy })
  await desk.role('dev', { token_policies: ['wide', 'narrow', 'closed', 'maker'], token_ttl: '1h' })
  for (const name of ['x', 'xy', 'y', 'closed', 'shop/db', 'shop/api'])
    await written(desk.root, `kv/${name}`, { a: name })
  await written(desk.root, 'sys/namespaces/team', {})
  await desk.root.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } }, inside('team'))
  for (const name of ['x', 'y']) await desk.root.write(`kv/${name}`, { a: name }, inside('team'))
})
afterAll(async () => {
  await desk[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const logIn = (fields: object = {}) =>
  desk.anonymous.write('auth/jwt/login', { role: 'dev', jwt: desk.jwt(), ...fields })

async function scoped(fields: object): Promise<Client> {
  const { body, text } = await logIn(fields)
  expect(body.auth?.client_token, text).toBeTypeOf('string')
  return desk.as(String(body.auth?.client_token))
}

const statuses = async (client: Client, paths: readonly string[]) =>
  Promise.all(paths.map(async (path) => (await client.read(path)).status))

const capabilitiesOf = async (client: Client, paths: readonly string[]) =>
  (await client.write('sys/capabilities-self', { paths })).body.data

describe('the intersection', () => {
  test('scope_paths: exact paths, and with a final * what begins so', async () => {
    const client = await scoped({ scope_paths: ['kv/x', '/kv/shop/*'] })

    expect(await statuses(client, ['kv/x', 'kv/shop/db', 'kv/xy', 'kv/y', 'sys/mounts'])).toEqual([
      200, 200, 403, 403, 403,
    ])
    expect((await client.list('kv/shop')).status).toBe(200)
    expect((await client.list('kv')).status).toBe(403)
    expect((await client.write('kv/shop/new', { a: 'b' })).status).toBe(204)
    expect((await client.write('kv/new', { a: 'b' })).status).toBe(403)
    expect((await client.delete('kv/shop/new')).status).toBe(204)
  })

  test('scope_policies: only those of them count, and the others still deny', async () => {
    const wide = await scoped({ scope_policies: 'wide' })
    const narrow = await scoped({ scope_policies: ['NARROW', 'default'] })

    // policy `narrow` says less about kv/x than `wide` does: together they allow to read it
    expect((await wide.write('kv/x', { a: 'b' })).status).toBe(403)
    expect(await statuses(wide, ['kv/x', 'kv/closed', 'sys/mounts'])).toEqual([200, 403, 403])
    expect(await statuses(narrow, ['kv/x', 'kv/y', 'kv/closed', 'sys/mounts'])).toEqual([200, 403, 403, 403])
  })

  test('the policies of groups are in it at each request, and a policy that goes leaves nothing behind', async () => {
    await written(desk.root, 'sys/policies/acl/of-group', {
      policy: 'path "kv/y" { capabilities = ["read"] }',
    })
    await desk.role('bare', { token_policies: ['narrow'] })
    const first = await logIn({ role: 'bare' })
    const group = { name: 'late', policies: ['of-group'], member_entity_ids: [first.body.auth?.entity_id] }
    const before = await logIn({ role: 'bare', scope_policies: ['of-group'] })
    await written(desk.root, 'identity/group', group)
    const client = await scoped({ role: 'bare', scope_policies: ['of-group'] })

    expect(outcomeOf(before)).toEqual([400, 'scope_policies: the login does not give "of-group"', false])
    expect(await statuses(client, ['kv/y', 'kv/x'])).toEqual([200, 403])
    await desk.root.delete('sys/policies/acl/of-group')
    expect(await statuses(client, ['kv/y', 'kv/x'])).toEqual([403, 403])
    await desk.root.delete('identity/group/name/late')
  })

  test('a token looks at, renews and ends itself whatever its scope, as its policies allow', async () => {
    const client = await scoped({ scope_paths: ['kv/x'], scope_policies: ['narrow'] })
    await desk.role('strict', { token_policies: ['narrow'], token_no_default_policy: true })
    const strict = await scoped({ role: 'strict', scope_paths: ['kv/x'] })

    expect((await client.read('auth/token/lookup-self')).status).toBe(200)
    expect((await client.write('auth/token/renew-self')).status).toBe(200)
    expect((await client.write('auth/token/lookup', {})).status).toBe(403)
    expect((await client.write('cubbyhole/a', { a: 'b' })).status).toBe(403)
    expect((await client.write('sys/wrapping/wrap', { a: 'b' })).status).toBe(403)
    expect((await client.write('auth/token/revoke-self')).status).toBe(204)
    expect((await strict.read('auth/token/lookup-self')).status).toBe(403)
  })

  test('what a token may do is what it is told', async () => {
    await written(desk.root, 'sys/policies/acl/narrow', {
      policy: `${policies.narrow} path "kv/shop/+" { capabilities = ["read"] }`,
    })
    const client = await scoped({ scope_paths: ['kv/x', 'kv/shop/*', 'kv/shop/db'] })

    expect(
      await capabilitiesOf(client, ['kv/x', 'kv/shop/db', 'kv/y', 'auth/token/lookup-self']),
    ).toMatchObject({
      'kv/x': ['read'],
      'kv/shop/db': ['read'],
      'kv/y': ['deny'],
      'auth/token/lookup-self': ['read'],
    })
    const { client_token: token, accessor } = (await logIn({ scope_paths: ['kv/y'] })).body.auth ?? {}
    const paths = ['kv/y', 'kv/x']
    for (const [path, given] of [
      ['sys/capabilities', { token }],
      ['sys/capabilities-accessor', { accessor }],
    ] as const)
      expect((await desk.root.write(path, { ...given, paths })).body.data).toMatchObject({ 'kv/x': ['deny'] })
    const { data } = (await client.read('sys/internal/ui/resultant-acl')).body
    expect(data?.exact_paths).toMatchObject({
      'kv/x': { capabilities: ['read'] },
      // a rule with a + decides
      'kv/shop/db': { capabilities: ['read'] },
    })
    expect(data?.exact_paths?.['kv/closed']).toEqual({ capabilities: ['deny'] })
    expect(data?.glob_paths).toMatchObject({
      'kv/': { capabilities: ['deny'] },
      'kv/shop/': { capabilities: ['create', 'delete', 'list', 'read', 'sudo', 'update'] },
      'sys/': { capabilities: ['deny'] },
    })
    const mountsOf = async (of: Client) =>
      Object.keys((await of.read('sys/internal/ui/mounts')).body.data?.secret ?? {})
    expect(await mountsOf(client)).toEqual(['kv/'])
    expect(await mountsOf(await scoped({ scope_paths: ['team/kv/x'] }))).toEqual([])
  })

  test('paths are those of the namespace of the token', async () => {
    const client = await scoped({ scope_paths: ['team/kv/x'] })
    const status = async (path: string) => (await client.read(path, inside('team'))).status

    expect([await status('kv/x'), await status('kv/y')]).toEqual([200, 403])
    expect((await client.read('kv/x')).status).toBe(403)
    expect((await (await scoped({ scope_paths: ['kv/x'] })).read('kv/x', inside('team'))).status).toBe(403)
  })

  test('a wrapped response holds what the token may read, and no more', async () => {
    const client = await scoped({ scope_paths: ['kv/x'] })
    const wrapped = { headers: { 'X-Vault-Wrap-TTL': '60' } }
    const { body } = await client.read('kv/x', wrapped)
    const unwrapped = await desk.as(String(body.wrap_info?.token)).write('sys/wrapping/unwrap')

    expect(unwrapped.body.data).toEqual({ a: 'x' })
    expect((await client.read('kv/y', wrapped)).status).toBe(403)
  })
})

describe('time', () => {
  test('scope_ttl is the end, renewed or not, and never later than without', async () => {
    const { body } = await logIn({ scope_ttl: '5m' })
    const client = desk.as(String(body.auth?.client_token))

    expect(body.auth?.lease_duration).toBe(300)
    expect(body.warnings).toBeNull()
    expect((await logIn({ scope_ttl: '9h' })).body.auth?.lease_duration).toBe(3600)
    clock.advance(200)
    const renewed = await client.write('auth/token/renew-self', { increment: '1h' })
    expect(renewed.body.auth?.lease_duration).toBe(100)
    clock.advance(101)
    expect((await client.read('auth/token/lookup-self')).status).toBe(403)
  })

  test('a periodic token ends, too', async () => {
    await desk.role('periodic', { token_policies: ['wide'], token_period: '2m' })
    const client = await scoped({ role: 'periodic', scope_ttl: '5m' })

    for (const left of [120, 120, 100]) {
      const renewed = await client.write('auth/token/renew-self')
      expect(renewed.body.auth?.lease_duration).toBe(left)
      clock.advance(100)
    }
    expect((await client.write('auth/token/renew-self')).status).toBe(403)
  })
})

describe('children', () => {
  const create = async (client: Client, form: string, fields: object) => {
    const { body, text } = await client.write(`auth/token/${form}`, fields)
    expect(body.auth?.client_token, text).toBeTypeOf('string')
    return { client: desk.as(String(body.auth?.client_token)), auth: body.auth }
  }
  const scope = { scope_paths: ['kv/x', 'auth/token/*', 'sys/mounts'], scope_policies: ['wide', 'maker'] }

  test('of every kind have the scope: also orphans, batch tokens, and with policies that need sudo', async () => {
    await desk.root.write('sys/policies/acl/other', {
      policy: 'path "kv/*" { capabilities = ["read"] } path "sys/mounts" { capabilities = ["read"] }',
    })
    await desk.root.write('auth/token/roles/free', { orphan: true, allowed_policies: ['other', 'wide'] })
    const parent = await scoped(scope)
    for (const [form, fields] of [
      ['create', {}],
      ['create', { policies: ['other', 'wide'], no_parent: true }],
      ['create-orphan', { policies: ['other', 'wide'] }],
      ['create', { type: 'batch', policies: ['other', 'wide'] }],
      ['create/free', { policies: ['other', 'wide'] }],
    ] as const) {
      const { client } = await create(parent, form, fields)
      expect(await statuses(client, ['kv/x', 'kv/y', 'kv/closed']), form).toEqual([200, 403, 403])
    }
    const { client } = await create(parent, 'create-orphan', { policies: ['other'] })
    expect(await statuses(client, ['kv/x', 'sys/mounts'])).toEqual([403, 403])
    const grandchild = await create((await create(parent, 'create', {})).client, 'create', {})
    expect(await statuses(grandchild.client, ['kv/x', 'kv/y'])).toEqual([200, 403])
    expect(grandchild.auth?.scope_paths).toEqual(scope.scope_paths)
  })

  test('end with it, also if a token role says when they end', async () => {
    await desk.root.write('auth/token/roles/long', {
      orphan: true,
      token_period: '1h',
      allowed_policies: ['default', 'wide'],
    })
    const parent = await scoped({ ...scope, scope_ttl: '10m' })
    const child = await create(parent, 'create/long', { policies: ['wide'] })
    const batch = await create(parent, 'create-orphan', { type: 'batch', ttl: '2h', policies: ['wide'] })

    expect([child.auth?.lease_duration, batch.auth?.lease_duration]).toEqual([600, 600])
    clock.advance(500)
    const accessor = child.auth?.accessor
    const renewed = await desk.root.write('auth/token/renew-accessor', { accessor, increment: '3h' })
    expect(renewed.body.auth?.lease_duration).toBe(100)
    clock.advance(101)
    expect(await statuses(child.client, ['kv/x'])).toEqual([403])
    expect(await statuses(batch.client, ['kv/x'])).toEqual([403])
  })

  test('are none of another namespace, and none is root', async () => {
    const parent = await scoped({ scope_paths: ['auth/token/create', 'team/*'] })

    expect(outcomeOf(await parent.write('auth/token/create', { policies: ['x'] }, inside('team')))).toEqual([
      400,
      'a token with a scope cannot generate a token in another namespace',
      false,
    ])
    expect((await parent.write('auth/token/create', { policies: ['root'] })).status).toBe(400)
  })

  test('a batch token of a login has its scope sealed in it', async () => {
    await desk.role('batch', { token_policies: ['wide'], token_type: 'batch' })
    const client = await scoped({ role: 'batch', scope_paths: ['kv/x'], scope_ttl: '1m' })

    expect(await statuses(client, ['kv/x', 'kv/y'])).toEqual([200, 403])
    expect((await client.read('auth/token/lookup-self')).body.data).toMatchObject({
      scope_paths: ['kv/x'],
      creation_ttl: 60,
    })
    clock.advance(61)
    expect(await statuses(client, ['kv/x'])).toEqual([403])
  })

  test('a token with few uses keeps its scope with each of them', async () => {
    await desk.role('few', { token_policies: ['wide'], token_num_uses: 4 })
    const client = await scoped({ role: 'few', scope_paths: ['kv/x'] })

    const seen = []
    for (const path of ['kv/x', 'kv/y', 'kv/x', 'kv/y', 'kv/x']) seen.push((await client.read(path)).status)
    expect(seen).toEqual([200, 403, 200, 403, 403])
  })
})

describe('what shows it', () => {
  test('the answer of the login, lookup-self, and nothing of either without a scope', async () => {
    const { body } = await logIn({ scope_paths: ['kv/x'], scope_policies: ['wide'], scope_ttl: 60 })
    const shown = {
      scope_policies: ['wide'],
      scope_paths: ['kv/x'],
      scope_expire_time: new Date(clock.now() + 60_000).toISOString().replace('.000Z', 'Z'),
    }
    const lookedUp = await desk.as(String(body.auth?.client_token)).read('auth/token/lookup-self')
    const plain = await logIn()
    const plainLookup = await desk.as(String(plain.body.auth?.client_token)).read('auth/token/lookup-self')

    expect(body.auth).toMatchObject({ ...shown, policies: ['closed', 'default', 'maker', 'narrow', 'wide'] })
    expect(lookedUp.body.data).toMatchObject(shown)
    for (const text of [plain.text, plainLookup.text]) expect(text).not.toContain('scope')
  })

  test('the audit log, with the login and with each request', async () => {
    const audit = await enableAuditFile(desk.root, folder.file('audit.log'))
    const client = await scoped({ scope_paths: ['kv/x'], scope_policies: ['wide'] })
    await client.read('kv/x')
    await desk.root.read('kv/x')
    const entries = audit.entries().filter((entry) => String(entry['type']) === 'response')
    await desk.root.delete('sys/audit/file')

    const shown = { scope_policies: ['wide'], scope_paths: ['kv/x'] }
    const [login, read, plain] = entries.slice(-3)
    expect(login).toMatchObject({ response: { auth: shown } })
    expect(read).toMatchObject({
      auth: { ...shown, policy_results: { granting_policies: [{ name: 'wide' }] } },
    })
    expect(JSON.stringify(plain)).not.toContain('scope_')
  })

  test('explain shows what a login with it would give, and why it would be refused', async () => {
    const explain = async (fields: object) =>
      (await desk.root.write('auth/jwt/explain', { role: 'dev', jwt: desk.jwt(), ...fields })).body.data

    expect(await explain({ scope_policies: ['wide'], scope_paths: ['kv/x'], scope_ttl: '1m' })).toMatchObject(
      { allowed: true, login: { scope_policies: ['wide'], scope_paths: ['kv/x'], lease_duration: 60 } },
    )
    expect((await explain({}))?.login).not.toHaveProperty('scope_paths')
    expect(await explain({ scope_policies: ['root'] })).toMatchObject({
      allowed: false,
      status: 400,
      reason: 'scope_refused',
      error: 'scope_policies: the login does not give "root"',
    })
  })
})

describe('fields', () => {
  test.each([
    [{ scope_paths: [] }, 'scope_paths is empty: leave it out for no limit'],
    [{ scope_paths: '' }, 'scope_paths is empty: leave it out for no limit'],
    [{ scope_policies: [' '] }, 'scope_policies is empty: leave it out for no limit'],
    [{ scope_paths: ['/'] }, 'scope_paths: "" is no path'],
    [{ scope_paths: ['kv/*/x'] }, 'scope_paths: "kv/*/x" has a * that is not at its end'],
    [{ scope_paths: ['kv/+/x'] }, 'scope_paths: "kv/+/x" has a + for a segment, which a scope does not know'],
    [{ scope_paths: Array.from({ length: 33 }, (_, at) => `p${at}`) }, 'scope_paths has more than 32 values'],
    [
      { scope_policies: Array.from({ length: 33 }, (_, at) => `p${at}`) },
      'scope_policies has more than 32 values',
    ],
    [{ scope_paths: ['x'.repeat(2049)] }, 'scope_policies and scope_paths have more than 2048 characters'],
    [{ scope_ttl: 0 }, 'scope_ttl must be at least one second'],
    [{ scope_ttl: '500ms' }, 'scope_ttl must be at least one second'],
    [{ scope_policies: ['root'] }, 'scope_policies: the login does not give "root"'],
    [{ scope_policies: ['wide', 'nope'] }, 'scope_policies: the login does not give "nope"'],
  ])('%j is refused', async (fields, error) => {
    expect(outcomeOf(await logIn(fields))).toEqual([400, error, false])
  })

  test('a refused scope uses up no one-time JWT, and is a refused login', async () => {
    await desk.role('once', { token_replay_protection: true })
    const jwt = desk.jwt({ jti: 'only' })

    expect((await logIn({ role: 'once', jwt, scope_policies: ['nope'] })).status).toBe(400)
    expect((await logIn({ role: 'once', jwt })).status).toBe(200)
    const { data } = (await desk.root.read('auth/jwt/failures?limit=1')).body
    expect(data?.failures).toMatchObject([{ reason: 'scope_refused', check: 'scope', role: 'once' }])
  })
})

describe('a login that the request carries', () => {
  const readAll = async (headers: Headers) =>
    Promise.all(['kv/x', 'kv/y'].map(async (path) => (await desk.ask(path, headers)).status))

  test('in the headers takes the fields as parameters', async () => {
    const headers = desk.head({ scope_paths: ['kv/x'], scope_ttl: '1m' })

    expect(await readAll(headers)).toEqual([200, 403])
    expect((await desk.ask('auth/token/lookup-self', headers)).body.data).toMatchObject({
      scope_paths: ['kv/x'],
      creation_ttl: 60,
    })
    expect(outcomeOf(await desk.ask('kv/x', desk.head({ scope_paths: [] })))).toEqual([
      400,
      'scope_paths is empty: leave it out for no limit',
      true,
    ])
  })

  test('with a JWT as the token, takes them in a header', async () => {
    const withScope = (scope: string | readonly string[], token = desk.jwt()): Headers => ({
      'X-Vault-Token': token,
      'X-Gatehouse-Scope': scope,
    })
    const refused = async (scope: string | readonly string[], token?: string) =>
      outcomeOf(await desk.ask('kv/x', withScope(scope, token)))

    expect(await readAll({ 'X-Vault-Token': desk.jwt() })).toEqual([200, 200])
    expect(await readAll(withScope('{"scope_paths": ["kv/x"]}'))).toEqual([200, 403])
    expect(await readAll(withScope('{"scope_policies": "narrow"}'))).toEqual([200, 403])
    for (const scope of ['{"scope_paths": []}', '{"scope_policies": ["nope"]}', '{"scope_ttl": "x"}'])
      expect(await refused(scope), scope).toEqual([403, 'permission denied', false])
    const one = '{"scope_paths": ["kv/x"]}'
    expect(await refused('kv/x')).toEqual([400, 'X-Gatehouse-Scope: expected a JSON object', false])
    expect(await refused('')).toEqual([400, 'X-Gatehouse-Scope: expected a JSON object', false])
    expect(await refused('{"scope_paths": ["kv/x"], "scope_paths": ["*"]}')).toEqual([
      400,
      'X-Gatehouse-Scope: expected a JSON object',
      false,
    ])
    expect(await refused('{}')).toEqual([400, 'X-Gatehouse-Scope: it names no limit', false])
    expect(await refused('{"scope_ttl": null}')).toEqual([400, 'X-Gatehouse-Scope: it names no limit', false])
    expect(await refused([one, one])).toEqual([400, 'X-Gatehouse-Scope: expected exactly one value', false])
    expect(await refused('{"role": "dev"}')).toEqual([
      400,
      'X-Gatehouse-Scope: it may have scope_policies, scope_paths, scope_ttl',
      false,
    ])
    expect(await refused(one, 'root')).toEqual([400, 'X-Gatehouse-Scope: the token is no JWT', false])
    expect(outcomeOf(await desk.ask('kv/x', desk.head({}, { 'X-Gatehouse-Scope': one })))[0]).toBe(400)
  })

  test('a CEL role knows them', async () => {
    await written(desk.root, 'auth/jwt/cel/role/prog', {
      bound_audiences: ['gate'],
      cel_program: { expression: "pb.Auth{policies: ['wide'], alias: logical.Alias{name: 'x'}}" },
    })
    const headers = { 'X-Vault-Token': desk.jwt(), 'X-Gatehouse-Role': 'cel/prog' }

    expect(await readAll(headers)).toEqual([200, 200])
    expect(await readAll({ ...headers, 'X-Gatehouse-Scope': '{"scope_paths": ["kv/x"]}' })).toEqual([
      200, 403,
    ])
  })

  test('so do the other methods', async () => {
    await written(desk.root, 'sys/auth/approle', { type: 'approle' })
    await written(desk.root, 'auth/approle/role/a', { token_policies: ['wide'] })
    const { role_id } = (await desk.root.read('auth/approle/role/a/role-id')).body.data ?? {}
    const { secret_id } = (await desk.root.write('auth/approle/role/a/secret-id')).body.data ?? {}
    await written(desk.root, 'sys/auth/userpass', { type: 'userpass' })
    await written(desk.root, 'auth/userpass/users/ann', { password: 'pw-of-ann', token_policies: ['wide'] })
    const scope = { scope_paths: ['kv/x'] }

    expect(await readAll(inlineLogin('auth/approle/login', { role_id, secret_id, ...scope }))).toEqual([
      200, 403,
    ])
    expect(
      await readAll(inlineLogin('auth/userpass/login/ann', { password: 'pw-of-ann', ...scope })),
    ).toEqual([200, 403])
  })
})
