import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../simulators/free-port.ts'
import { importServer, isSection, sections } from '../../src/commands/import/import-server.ts'
import { RemoteServer } from '../../src/commands/import/remote-server.ts'
import { ImportReport } from '../../src/commands/import/report.ts'
import { jwksOf, startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { borrowServer } from '../support/borrowed-server.ts'
import { inside } from '../support/client.ts'
import { commandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { shared } from '../support/shared.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Listed = { kind: string; namespace: string; path: string; note?: string; reason?: string }
type Report = {
  summary: { imported: number; updated: number; existed: number; differ: number; failed: number }
  imported: Listed[]
  updated: Listed[]
  existed: Listed[]
  failed: Listed[]
  never_carried: { kind: string; instead: string; found: string[] }[]
}

async function importAll(
  from: TestServer,
  to: TestServer,
  options: { only?: string; dryRun?: boolean; update?: boolean; token?: string; except?: string[] } = {},
) {
  const report = new ImportReport()
  const server = (name: string, { url }: TestServer, token = 'root') =>
    new RemoteServer(name, new URL(url), token)
  const only = new Set((options.only?.split(',') ?? [...sections]).filter(isSection))
  await importServer(
    {
      from: server('--from', from, options.token),
      to: server('--to', to),
      report,
      isDryRun: options.dryRun ?? false,
      isUpdate: options.update ?? false,
      except: new Set(options.except),
      progress: () => {},
    },
    only,
  )
  return JSON.parse(JSON.stringify(report)) as Report
}

const pathsOf = (items: Listed[], kind: string) =>
  items.filter((item) => item.kind === kind).map(({ namespace, path }) => namespace + path)

const ok = { status: 204 }

/** A server with something in each section. */
async function startFilled(): Promise<TestServer> {
  const server = await startTestServer()
  const { root } = server
  const signer = aSigner()
  expect(await root.write('sys/auth/ci', { type: 'jwt', description: 'pipelines' })).toMatchObject(ok)
  await root.write('auth/ci/config', { jwt_validation_pubkeys: [signer.pem], bound_issuer: 'https://ci' })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['a'], token_policies: ['reader'] }
  await root.write('auth/ci/role/build', {
    ...role,
    token_ttl: '15m',
    callback_mode: 'device',
    poll_interval: 7,
  })
  await root.write('auth/ci/cel/role/rule', {
    bound_audiences: ['a'],
    cel_program: {
      variables: [{ name: 'isMain', expression: 'claims.ref == "main"' }],
      expression: 'isMain ? pb.Auth{policies: ["reader"]} : "not main"',
    },
  })
  await root.write('auth/token/roles/nightly', { allowed_policies: ['reader'], orphan: true })
  const accessor = String((await root.read('sys/auth')).body['data']?.['ci/']?.['accessor'])
  const alice = await root.write('identity/entity', { name: 'alice', metadata: { team: 'web' } })
  const id = String(alice.body['data']?.['id'])
  await root.write('identity/entity-alias', { name: 'sub-1', canonical_id: id, mount_accessor: accessor })
  const inner = await root.write('identity/group', { name: 'inner', member_entity_ids: [id] })
  const innerId = String(inner.body['data']?.['id'])
  await root.write('identity/group', { name: 'all', policies: ['reader'], member_group_ids: [innerId] })
  const external = await root.write('identity/group', { name: 'people', type: 'external' })
  const canonical = external.body['data']?.['id']
  await root.write('identity/group-alias', { name: 'g', mount_accessor: accessor, canonical_id: canonical })
  const template =
    `path "own/{{identity.entity.aliases.${accessor}.name}}" { capabilities = ["read"] }\n` +
    `path "team/{{identity.groups.ids.${innerId}.name}}" { capabilities = ["read"] }\n` +
    `path "at/{{ login.${accessor}.metadata.role }}/{{login.metadata.role}}" { capabilities = ["read"] }`
  await root.write('sys/policies/acl/reader', { policy: template })
  const policy = 'length = 20 rule "charset" { charset = "abc" }'
  await root.write('sys/policies/password/database', { policy })
  await root.write('sys/config/ui/custom-messages', {
    title: 'Maintenance',
    message: Buffer.from('tonight').toString('base64'),
    authenticated: false,
    start_time: '2020-01-01T00:00:00Z',
    end_time: '2100-01-01T00:00:00Z',
    link: { more: 'https://a' },
  })
  await root.write('sys/config/ui/custom-messages', window)
  await root.write('sys/namespaces/team', { custom_metadata: { owner: 'web' } })
  await root.write('sys/namespaces/child', {}, inside('team'))
  await root.write('sys/policies/acl/deep', { policy: 'path "x" {}' }, inside('team/child'))
  return server
}

const window = {
  title: 'New disks',
  message: Buffer.from('tonight').toString('base64'),
  start_time: '2020-01-01T00:00:00Z',
  severity: 'critical',
  priority: 7,
  dismissible: false,
  acknowledge_required: true,
  audience: { policies: ['reader'], entity_ids: ['e'] },
  effect: 'no_new_credentials',
  schedule: { cron: '0 2 * * 6', duration: 7200, time_zone: 'Europe/Berlin' },
}

/** For the tests that only read it. */
const sharedSource = shared(startFilled)

test('all that another server holds is imported as a dry run says, and a second run changes nothing', async () => {
  const from = await sharedSource()
  await using to = await startTestServer()

  const dry = await importAll(from, to, { dryRun: true })
  const first = await importAll(from, to)
  const second = await importAll(from, to)

  // the dry run wrote nothing: what it would import was still to be imported
  expect(dry.failed).toEqual([])
  const sorted = ({ imported }: Report) =>
    imported.map(({ kind, namespace, path }) => `${kind} ${namespace}${path}`).toSorted()
  expect(sorted(dry)).toEqual(sorted(first))
  expect(first.existed).toEqual(dry.existed)
  expect(first.failed).toEqual([])
  expect(pathsOf(first.imported, 'auth_mount')).toEqual(['auth/ci/'])
  expect(pathsOf(first.imported, 'auth_role')).toEqual([
    'auth/ci/role/build',
    'auth/ci/cel/role/rule',
    'auth/token/roles/nightly',
  ])
  expect(pathsOf(first.imported, 'password_policy')).toEqual(['sys/policies/password/database'])
  expect(pathsOf(first.imported, 'namespace')).toEqual(['sys/namespaces/team', 'team/sys/namespaces/child'])
  expect(pathsOf(first.imported, 'policy')).toEqual([
    'sys/policies/acl/reader',
    'team/child/sys/policies/acl/deep',
  ])
  expect(second.imported).toEqual([])
  expect(second.failed).toEqual([])
  expect(second.summary.existed).toBeGreaterThanOrEqual(first.summary.imported)
  for (const path of [
    'auth/ci/config',
    'auth/ci/role/build',
    'auth/ci/cel/role/rule',
    'auth/token/roles/nightly',
    'sys/policies/password/database',
  ])
    expect((await to.root.read(path)).body['data'], path).toEqual((await from.root.read(path)).body['data'])

  // imported policies, aliases and groups name what the target calls them
  const accessor = String((await to.root.read('sys/auth')).body['data']?.['ci/']?.['accessor'])
  const alice = (await to.root.read('identity/entity/name/alice')).body['data']
  const inner = (await to.root.read('identity/group/name/inner')).body['data']
  expect(alice).toMatchObject({
    metadata: { team: 'web' },
    aliases: [{ name: 'sub-1', mount_accessor: accessor }],
    group_ids: expect.arrayContaining([inner?.['id']]),
  })
  expect(inner).toMatchObject({ member_entity_ids: [alice?.['id']] })
  expect((await to.root.read('identity/group/name/all')).body['data']).toMatchObject({
    member_group_ids: [inner?.['id']],
    policies: ['reader'],
  })
  expect((await to.root.read('identity/group/name/people')).body['data']).toMatchObject({
    type: 'external',
    alias: { name: 'g', mount_accessor: accessor },
  })
  const { policy } = (await to.root.read('sys/policies/acl/reader')).body['data'] ?? {}
  expect(policy).toContain(`aliases.${accessor}.name`)
  expect(policy).toContain(`ids.${inner?.['id']}.name`)
  expect(policy).toContain(`{{ login.${accessor}.metadata.role }}/{{login.metadata.role}}`)
})

test('only the sections that are asked for are imported', async () => {
  const from = await sharedSource()
  await using to = await borrowServer()

  const { imported, failed } = await importAll(from, to, { only: 'policies,messages' })

  expect(new Set(imported.map(({ kind }) => kind))).toEqual(new Set(['policy', 'password_policy', 'message']))
  expect(failed).toEqual([
    {
      kind: 'namespace',
      namespace: '',
      path: 'sys/namespaces/team',
      reason: 'the target has no such namespace',
    },
  ])
})

describe('what is on the target', () => {
  test('stays, and what is new is imported beside it', async () => {
    const from = await sharedSource()
    await using to = await startTestServer()
    await to.root.write('sys/policies/acl/reader', { policy: 'path "mine" {}' })
    await to.root.write('sys/auth/ci', { type: 'jwt', description: 'mine' })

    const { existed, imported } = await importAll(from, to)

    expect(existed).toContainEqual({
      kind: 'policy',
      namespace: '',
      path: 'sys/policies/acl/reader',
      note: 'it differs, and stays as it is',
    })
    expect(pathsOf(existed, 'auth_mount')).toEqual(['auth/ci/', 'auth/jwt/'])
    expect(pathsOf(imported, 'auth_config')).toEqual(['auth/ci/config'])
    expect((await to.root.read('sys/policies/acl/reader')).body['data']?.['policy']).toBe('path "mine" {}')
    expect((await to.root.read('sys/auth')).body['data']?.['ci/']?.['description']).toBe('mine')
  })

  test('of another type is reported', async () => {
    const from = await sharedSource()
    await using to = await borrowServer()
    await to.root.write('sys/auth/ci', { type: 'oidc' })

    const { failed } = await importAll(from, to, { only: 'auth' })

    expect(failed).toContainEqual({
      kind: 'auth_mount',
      namespace: '',
      path: 'auth/ci/',
      reason: 'the target has type oidc here',
    })
  })

  test('an entity of the same name with other aliases gets none of the aliases', async () => {
    const from = await sharedSource()
    await using to = await startTestServer()
    await importAll(from, to, { only: 'auth,namespaces' })
    const accessor = String((await to.root.read('sys/auth')).body['data']?.['ci/']?.['accessor'])
    const other = await to.root.write('identity/entity', { name: 'alice', policies: ['admin'] })
    const id = other.body['data']?.['id']
    await to.root.write('identity/entity-alias', {
      name: 'someone',
      mount_accessor: accessor,
      canonical_id: id,
    })

    const { failed } = await importAll(from, to, { only: 'identity,namespaces' })

    expect(failed).toMatchObject([
      { kind: 'entity_alias', reason: 'the target has an entity of this name with other aliases' },
    ])
  })

  test('a person who has logged in on the target is the same person', async () => {
    const from = await sharedSource()
    await using to = await startTestServer()
    await importAll(from, to, { only: 'auth,namespaces' })
    const accessor = String((await to.root.read('sys/auth')).body['data']?.['ci/']?.['accessor'])
    const made = await to.root.write('identity/entity', { name: 'entity_1' })
    const id = made.body['data']?.['id']
    await to.root.write('identity/entity-alias', {
      name: 'sub-1',
      mount_accessor: accessor,
      canonical_id: id,
    })

    const { failed } = await importAll(from, to)

    expect(failed).toEqual([])
    expect((await to.root.read('identity/group/name/inner')).body['data']?.['member_entity_ids']).toEqual([
      id,
    ])
    expect((await to.root.read('identity/entity/name/alice')).status).toBe(404)
  })
})

test('messages keep what they do and when, and one that stops writes is imported after all else', async () => {
  await using from = await startTestServer()
  await using to = await startTestServer()
  const messages = 'sys/config/ui/custom-messages'
  await from.root.write('sys/namespaces/below', {})
  await from.root.write(messages, window, inside('below'))
  await from.root.write(messages, { ...window, audience: null, schedule: null, effect: 'read_only' })

  const { failed, imported } = await importAll(from, to)

  expect(failed).toEqual([])
  const { keys } = (await to.root.list(messages, inside('below'))).body.data as unknown as { keys: string[] }
  expect((await to.root.read(`${messages}/${keys[0]}`, inside('below'))).body.data).toMatchObject(window)
  expect(imported.flatMap(({ kind, note }) => (kind === 'message' ? [note] : []))).toContain(
    'its audience names ids of the source: write those of the target',
  )
  expect((await to.root.write('sys/namespaces/late', {})).body.errors).toEqual(['maintenance: New disks'])
})

test('a refusal is reported with its reason, and the rest is imported', async () => {
  await using from = await startFilled()
  await using to = await startTestServer()
  {
    await using provider = await startProvider({ '/keys': jwksOf(aSigner()) })
    await from.root.write('auth/jwt/config', { jwks_url: `${provider.url}/keys` })
  }

  const { failed, imported } = await importAll(from, to)

  expect(failed.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['auth_config auth/jwt/config'])
  expect(failed[0]?.reason).toMatch(/^HTTP 400: /)
  expect(pathsOf(imported, 'message')).toHaveLength(2)
})

/** Passes requests on to a server, and breaks the connections of those that `breaks` selects after their answer. */
const startBreaking = (to: TestServer, breaks: (method: string, path: string) => boolean) =>
  startBetween(to, async ({ method, url }, answer) =>
    breaks(method, url.split('?')[0] ?? '') ? undefined : answer,
  )

type Passed = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer<ArrayBuffer> }
type Answered = Awaited<ReturnType<typeof passOn>> & { location?: string }

/** Passes requests on to a server, and changes its answers; undefined breaks the connection. */
async function startBetween(
  to: TestServer,
  changed: (request: Passed, answer: Answered) => Promise<Answered | undefined>,
) {
  const passed = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const sent = { method, url, headers, body: await buffer(request) }
    const answer = await changed(sent, await passOn(to, sent))
    if (answer === undefined) return void request.socket.destroy()
    const location = answer.location === undefined ? {} : { location: answer.location }
    response.writeHead(answer.status, { 'content-type': answer.type, ...location }).end(answer.body)
  })
  passed.listen(0, '127.0.0.1')
  await once(passed, 'listening')
  const { port } = passed.address() as AddressInfo
  return {
    server: { ...to, url: `http://127.0.0.1:${port}` },
    [Symbol.asyncDispose]: async () => {
      passed.closeAllConnections()
      passed.close()
      await once(passed, 'close')
    },
  }
}

async function passOn({ url: origin }: TestServer, { method, url, headers, body }: Passed) {
  const kept = Object.entries(headers).filter(
    ([name]) => name.startsWith('x-vault-') || name === 'content-type',
  )
  const answer = await fetch(origin + url, {
    method,
    headers: Object.fromEntries(kept) as Record<string, string>,
    body: method === 'GET' ? null : body,
  })
  const type = answer.headers.get('content-type') ?? 'text/plain'
  return { status: answer.status, type, body: Buffer.from(await answer.arrayBuffer()) }
}

test('what breaks on the way is reported, holds back what depends on it, and is imported by the next run', async () => {
  await using from = await startFilled()
  await using to = await startTestServer()
  await from.root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
  for (const a of [1, 2]) await from.root.write('kv2/data/app', { data: { a } })
  await from.root.write('kv2/config', { cas_required: true })
  const broken = ['/v1/identity/entity', '/v1/kv2/data/app']
  await using breaking = await startBreaking(to, (method, path) => method === 'POST' && broken.includes(path))

  const first = await importAll(from, breaking.server)
  const second = await importAll(from, to)

  const reasons = Object.fromEntries(first.failed.map(({ kind, reason }) => [kind, reason]))
  const lost = 'the connection was lost: UND_ERR_SOCKET'
  expect(reasons).toEqual({
    entity: lost,
    group: 'some of its members are not imported yet',
    secret: lost,
    kv_config: 'some of its secrets are not imported yet',
  })
  expect(second.failed).toEqual([])
  expect(pathsOf(second.imported, 'group')).toEqual(['identity/group/name/inner', 'identity/group/name/all'])
  expect((await to.root.read('identity/group/name/inner')).body['data']?.['member_entity_ids']).toHaveLength(
    1,
  )
  expect((await to.root.read('kv2/metadata/app')).body['data']).toMatchObject({ current_version: 2 })
  expect((await to.root.read('kv2/config')).body['data']).toMatchObject({ cas_required: true })
})

test('metadata keeps a key named __proto__, and namespaces keep names with letters beyond ASCII', async () => {
  await using from = await startTestServer()
  await using to = await startTestServer()
  const texts = '{"__proto__":"p","constructor":"c"}'
  const write = async (path: string, raw: string) =>
    expect((await from.root.write(path, undefined, { raw })).status).toBeLessThan(300)
  await write('identity/entity', `{"name":"alice","metadata":${texts}}`)
  await write('identity/group', `{"name":"web","metadata":${texts}}`)
  await write('sys/namespaces/team', `{"custom_metadata":${texts}}`)
  await write('sys/mounts/kv2', '{"type":"kv-v2"}')
  await write('kv2/metadata/a', `{"custom_metadata":${texts}}`)
  expect((await from.root.write('sys/namespaces/%C3%A9quipe%E6%97%A5', {})).status).toBe(200)
  await from.root.write('%C3%A9quipe%E6%97%A5/sys/policies/acl/p', { policy: 'path "x" {}' })

  expect((await importAll(from, to)).failed).toEqual([])

  for (const path of [
    'identity/entity/name/alice',
    'identity/group/name/web',
    'sys/namespaces/team',
    'kv2/metadata/a',
  ])
    expect((await to.root.read(path)).text, path).toMatch(
      /etadata":\{("constructor":"c","__proto__":"p"|"__proto__":"p","constructor":"c")\}/,
    )
  expect((await to.root.read('%C3%A9quipe%E6%97%A5/sys/policies/acl/p')).status).toBe(200)
})

/** A server whose answers to some GET requests are changed: `data` by path. */
const startLying = (from: TestServer, lies: Record<string, (data: Record<string, unknown>) => unknown>) =>
  startBetween(from, async ({ method, url }, answer) => {
    const lie = method === 'GET' ? lies[decodeURI(url.slice('/v1/'.length))] : undefined
    if (lie === undefined) return answer
    const { data = {} } = JSON.parse(answer.body.toString())
    return { status: 200, type: 'application/json', body: Buffer.from(JSON.stringify({ data: lie(data) })) }
  })

const allowsAll = { policy: 'path "*" { capabilities = ["sudo"] }' }

test('a source cannot make the import write elsewhere by the names that it lists', async () => {
  await using from = await borrowServer()
  await using to = await borrowServer()
  await from.root.write('sys/mounts/kv1', { type: 'kv' })
  await from.root.write('sys/auth/people', { type: 'userpass' })
  await to.root.write('sys/mounts/ours', { type: 'kv' })
  const entry = { type: 'kv', options: { version: '2' }, description: 'theirs' }
  const names = [
    '../sys/policies/acl/evil',
    '../sys/policies/acl/other/',
    './a',
    '',
    '/',
    'a//b',
    '\ud800',
    'c',
  ]
  await using hostile = await startLying(from, {
    'sys/mounts': (data) => ({ ...data, s: { type: 'kv' }, '': { type: 'kv' }, 'ours/tune/': entry }),
    'sys/auth': (data) => ({ ...data, 'jwt/tune/': { type: 'jwt', description: 'theirs' } }),
    'kv1/?list=true': () => ({ keys: names }),
    'kv1/../sys/policies/acl/evil': () => allowsAll,
    'kv1/c': () => allowsAll,
    's?list=true': () => ({ keys: ['ys/policies/acl/evil'] }),
    'sys/policies/acl/evil': () => allowsAll,
    'auth/people/users?list=true': () => ({ keys: ['bob/password', 'x\ny'] }),
    'sys/policies/acl?list=true': () => ({ keys: ['', 'a/../b', '\ud800'] }),
    'sys/namespaces?list=true': () => ({ keys: ['a\nb/', '/', '\ud800/'] }),
  })

  const dry = await importAll(hostile.server, to, { dryRun: true })
  const report = await importAll(hostile.server, to)

  const failed = (kind: string) => pathsOf(report.failed, kind)
  expect(failed('secret')).toEqual(names.filter((name) => name !== 'c').map((name) => `kv1/${name}`))
  expect(failed('secrets_mount').toSorted()).toEqual(['', 'ours/tune/', 's'])
  expect(failed('auth_mount')).toEqual(['auth/jwt/tune/'])
  expect(failed('auth_role')).toEqual(['auth/people/users/bob/password', 'auth/people/users/x\ny'])
  expect(failed('policy')).toHaveLength(3)
  expect(failed('namespace')).toHaveLength(3)
  expect(dry.failed).toEqual(report.failed)
  expect(pathsOf(report.imported, 'secret')).toEqual(['kv1/c'])
  expect((await to.root.read('sys/policies/acl/evil')).status).toBe(404)
  expect((await to.root.read('sys/mounts')).body['data']?.['ours/']).toMatchObject({
    description: '',
    options: {},
  })
})

test('what a source says about a request neither shows the token nor controls a terminal', async () => {
  await using from = await borrowServer()
  await using to = await borrowServer()
  await using telling = await startBetween(from, async ({ headers }, answer) => {
    const errors = [`\u001b[2Jnot ${headers['x-vault-token']}\r`]
    return { ...answer, status: 400, body: Buffer.from(JSON.stringify({ errors })) }
  })
  await using moved = await startBetween(from, async (_, answer) => ({
    ...answer,
    status: 308,
    location: `https://vault.example.com/x?${'y'.repeat(9)}`,
  }))

  const { failed } = await importAll(telling.server, to, { token: 'hvs.canary-token' })
  const checked = new RemoteServer('--from', new URL(moved.server.url), 'root').check()

  expect(new Set(failed.map(({ reason }) => reason))).toEqual(new Set(['HTTP 400: [2Jnot <token>']))
  await expect(checked).rejects.toThrow(
    '--from cannot be used: HTTP 308: it redirects to https://vault.example.com',
  )
})

test('what the target would not restrict as the source does is not imported', async () => {
  const from = await sharedSource()
  await using to = await startTestServer()
  const secretFields = { oidc_client_id: 'web', oidc_discovery_url: 'https://idp' }
  const terms = {
    expiration: '2100-01-01T00:00:00Z',
    cas_required: true,
    allow_slashes_in_identity_templates: true,
    allow_wildcards_in_identity_templates: true,
  }
  await using richer = await startLying(from, {
    'auth/ci/config': (data) => ({ ...data, ...secretFields }),
    'auth/ci/role/build': (data) => ({
      ...data,
      token_strictly_bind_ip: true,
      token_policies_template_claims: true,
    }),
    'auth/token/roles/nightly': (data) => ({ ...data, token_strictly_bind_ip: false }),
    'sys/policies/acl/reader': (data) => ({ ...data, ...terms }),
  })

  const dry = await importAll(richer.server, to, { dryRun: true })
  const { imported, failed } = await importAll(richer.server, to)

  expect(failed.map(({ path, reason }) => `${path}: ${reason}`)).toEqual([
    'auth/ci/config: a server never shows its oidc_client_secret: write it to the target',
  ])
  expect(dry.failed).toEqual(failed)
  expect(imported.find(({ path }) => path === 'auth/token/roles/nightly')).toEqual({
    kind: 'auth_role',
    namespace: '',
    path: 'auth/token/roles/nightly',
  })
  expect((await to.root.read('auth/ci/role/build')).body.data).toMatchObject({
    token_strictly_bind_ip: true,
    token_policies_template_claims: true,
  })
  expect((await to.root.read('sys/policies/acl/reader')).body.data).toMatchObject({ ...terms, version: 1 })
})

test('a source that refuses to show something is reported, section by section', async () => {
  const from = await sharedSource()
  await using to = await borrowServer()
  const created = await from.root.write('auth/token/create', { policies: ['default'] })

  const { failed, imported } = await importAll(from, to, { token: String(created.body.auth?.client_token) })

  expect(imported).toEqual([])
  expect(failed.map(({ kind }) => kind)).toEqual([
    ...['auth', 'identity', 'policies', 'kv', 'namespace', 'messages'],
  ])
})

test('how a login method locks users is imported', async () => {
  await using from = await borrowServer()
  await using to = await borrowServer()
  await from.root.write('sys/auth/people', { type: 'userpass' })
  const user_lockout_config = {
    lockout_threshold: '7',
    lockout_duration: '10m',
    lockout_counter_reset_duration: '5m',
  }
  await from.root.write('sys/auth/people/tune', { user_lockout_config })

  const first = await importAll(from, to, { only: 'auth' })
  const second = await importAll(from, to, { only: 'auth' })

  expect(first.failed).toEqual([])
  expect(pathsOf(first.imported, 'auth_config')).toEqual(['sys/auth/people/tune'])
  expect(second.imported).toEqual([])
  const tuneOf = async ({ root }: TestServer) => (await root.read('sys/auth/people/tune')).body['data']
  expect(await tuneOf(to)).toEqual(await tuneOf(from))
  expect(await tuneOf(to)).toMatchObject({ user_lockout_threshold: 7, user_lockout_duration: 600 })
})

describe('secrets', () => {
  /** Two servers, with a mount `kv2` of version 2 on the first. */
  async function twoServers() {
    const stack = new AsyncDisposableStack()
    const from = stack.use(await borrowServer())
    const to = stack.use(await borrowServer())
    await from.root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' }, description: 'ours' })
    return { from, to, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  const put = async (server: TestServer, key: string, value: unknown) =>
    expect((await server.root.write(`kv2/data/${key}`, { data: value })).status).toBe(200)

  test('of version 1 are imported digit by digit, with the mount', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    await from.root.write('sys/mounts/kv1', { type: 'kv', config: { default_lease_ttl: '1h' } })
    const raw = '{"a":9007199254740993,"b":1e3,"c":["x",{"d":null}],"__proto__":"p"}'
    const key = 'kv1/deep/down/100%25%20%3F%20%2B'
    expect((await from.root.write(key, undefined, { raw })).status).toBe(204)

    const { imported, failed } = await importAll(from, to, { only: 'kv' })

    expect(failed).toEqual([])
    expect(pathsOf(imported, 'secrets_mount')).toEqual(expect.arrayContaining(['kv1/', 'kv2/']))
    expect(pathsOf(imported, 'secret')).toEqual(['kv1/deep/down/100% ? +'])
    expect((await to.root.read(key)).text).toContain(`"data":${raw}`)
    expect((await to.root.read('sys/mounts')).body['data']?.['kv1/']).toMatchObject({
      type: 'kv',
      config: { default_lease_ttl: 3600 },
    })
  })

  test('of version 2 keep the numbers of their versions, their settings, and what is destroyed', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    for (let version = 1; version <= 14; version += 1) await put(from, 'app/a', { version })
    await from.root.write('kv2/destroy/app/a', { versions: [12] })
    const settings = { max_versions: 12, cas_required: true, custom_metadata: { owner: 'web' } }
    await from.root.write('kv2/metadata/app/a', settings)
    await from.root.write('kv2/metadata/only', { custom_metadata: { a: 'b' } })
    await put(from, 'gone', { a: 1 })
    await put(from, 'gone', { a: 2 })
    await from.root.delete('kv2/data/gone')
    await from.root.write('kv2/config', { max_versions: 7, cas_required: true })

    const { imported, failed } = await importAll(from, to, { only: 'kv' })

    expect(pathsOf(imported, 'secret')).toEqual(expect.arrayContaining(['kv2/app/a', 'kv2/gone', 'kv2/only']))
    expect(failed).toMatchObject([{ kind: 'secret_version', path: 'kv2/gone version 2' }])
    expect((await to.root.read('kv2/config')).body['data']).toEqual(
      (await from.root.read('kv2/config')).body['data'],
    )
    const metadata = (await to.root.read('kv2/metadata/app/a')).body['data']
    const theirs = (await from.root.read('kv2/metadata/app/a')).body['data']
    expect(metadata).toMatchObject({ ...settings, current_version: 14 })
    expect(Object.keys(metadata?.['versions'] ?? {})).toEqual(Object.keys(theirs?.['versions'] ?? {}))
    expect(metadata?.['versions']?.['12']).toMatchObject({ destroyed: true })
    expect((await to.root.read('kv2/data/app/a?version=13')).body['data']?.['data']).toEqual({ version: 13 })
    expect((await to.root.read('kv2/data/gone?version=1')).body['data']?.['data']).toEqual({ a: 1 })
    expect((await to.root.read('kv2/data/gone')).status).toBe(404)
    expect((await to.root.read('kv2/metadata/only')).body['data']).toMatchObject({
      current_version: 0,
      custom_metadata: { a: 'b' },
    })
    const again = await importAll(from, to, { only: 'kv' })
    // what did not come over is no success of a second run either
    expect(again).toMatchObject({ imported: [], updated: [], failed })
    expect(again.failed).toHaveLength(1)
  })

  test('that are newer on the source are told by a second run, and brought over by an update', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    for (const v of [1, 2, 3]) await put(from, 'a', { v })
    await put(from, 'same', { v: 1 })
    await importAll(from, to, { only: 'kv' })
    await put(from, 'a', { v: 4 })
    await from.root.write('kv2/delete/a', { versions: [2] })
    await from.root.write('kv2/destroy/a', { versions: [1] })
    await from.root.write('kv2/metadata/a', { custom_metadata: { owner: 'web' }, max_versions: 9 })

    const second = await importAll(from, to, { only: 'kv' })
    const dry = await importAll(from, to, { only: 'kv', update: true, dryRun: true })
    const update = await importAll(from, to, { only: 'kv', update: true })
    const last = await importAll(from, to, { only: 'kv' })

    const differences =
      'the source has version 4, the target 3; the source has deleted version 2; ' +
      'the source has destroyed version 1; it differs in custom_metadata, max_versions'
    const item = { kind: 'secret', namespace: '', path: 'kv2/a' }
    expect(second.existed).toContainEqual({ ...item, note: `${differences}, and stays as it is` })
    expect(second.summary).toMatchObject({ imported: 0, updated: 0, differ: 1, failed: 0 })
    expect(dry.updated).toEqual([{ ...item, note: differences }])
    expect(update).toMatchObject({ updated: dry.updated, failed: [], imported: [] })
    expect(last.summary).toMatchObject({ differ: 0, failed: 0 })
    expect((await to.root.read('kv2/data/a')).body['data']?.['data']).toEqual({ v: 4 })
    expect((await to.root.read('kv2/metadata/a')).body['data']).toMatchObject({
      current_version: 4,
      max_versions: 9,
      custom_metadata: { owner: 'web' },
      versions: { 1: { destroyed: true }, 2: { destroyed: false }, 3: { deletion_time: '' } },
    })
    // a version that the source only deleted can be restored on the target
    await to.root.write('kv2/undelete/a', { versions: [2] })
    expect((await to.root.read('kv2/data/a?version=2')).body['data']?.['data']).toEqual({ v: 2 })
  })

  test('whose update was interrupted continue, and keep what was complete', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    for (const v of [1, 2]) await put(from, 'a', { v })
    await importAll(from, to, { only: 'kv' })
    for (const v of [3, 4]) await put(from, 'a', { v })
    await from.root.write('kv2/delete/a', { versions: [1, 3] })
    let left = 1
    await using breaking = await startBreaking(
      to,
      (method, path) => method === 'POST' && path === '/v1/kv2/data/a' && left-- > 0,
    )

    const broken = await importAll(from, breaking.server, { only: 'kv', update: true })
    const marked = (await to.root.read('kv2/metadata/a')).body['data']
    const next = await importAll(from, to, { only: 'kv' })

    expect(broken.failed).toMatchObject([{ kind: 'secret', path: 'kv2/a' }])
    expect(marked?.['custom_metadata']).toEqual({ 'gatehouse-import': 'unfinished after 2' })
    expect(pathsOf(next.imported, 'secret')).toEqual(['kv2/a'])
    expect(next.failed).toMatchObject([{ kind: 'secret_version', path: 'kv2/a version 3' }])
    expect((await to.root.read('kv2/metadata/a')).body['data']).toMatchObject({
      current_version: 4,
      custom_metadata: null,
      versions: { 1: { destroyed: false }, 3: { destroyed: true } },
    })
    await to.root.write('kv2/undelete/a', { versions: [1] })
    expect((await to.root.read('kv2/data/a?version=1')).body['data']?.['data']).toEqual({ v: 1 })
  })

  test('that the target has written itself are never replaced', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    for (const key of ['ahead', 'other', 'equal']) await put(from, key, { v: 1 })
    await importAll(from, to, { only: 'kv' })
    for (const key of ['ahead', 'other', 'equal']) await put(to, key, { v: 'ours' })
    await put(to, 'ahead', { v: 'ours' })
    for (const key of ['ahead', 'other', 'equal']) await put(from, key, { v: key === 'ahead' ? 'ours' : 2 })
    await put(from, 'other', { v: 3 })

    const { existed, updated, failed } = await importAll(from, to, { only: 'kv', update: true })

    expect(updated).toEqual([])
    const notes = existed.filter(({ note }) => note !== undefined).map(({ path, note }) => [path, note])
    expect(Object.fromEntries(notes)).toEqual({
      'kv2/ahead': 'the source has version 2, the target 3, and stays as it is',
      'kv2/equal': 'version 2 has other data, and stays as it is',
    })
    expect(failed.map(({ path, reason }) => [path, reason])).toEqual([
      [
        'kv2/other',
        'the source has version 3, the target 2; version 2 has other data: versions of the target are never replaced',
      ],
    ])
  })

  test('of version 1 that differ are told, and brought over by an update', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    await from.root.write('sys/mounts/kv1', { type: 'kv' })
    await from.root.write('kv1/a', { v: 1 })
    await importAll(from, to, { only: 'kv' })
    await from.root.write('kv1/a', { v: 2 })

    const second = await importAll(from, to, { only: 'kv' })
    const update = await importAll(from, to, { only: 'kv', update: true })

    expect(second.existed).toContainEqual({
      kind: 'secret',
      namespace: '',
      path: 'kv1/a',
      note: 'it differs, and stays as it is',
    })
    expect(update.updated).toMatchObject([{ path: 'kv1/a', note: 'it differs' }])
    expect((await to.root.read('kv1/a')).body['data']).toEqual({ v: 2 })
  })

  test('that end by themselves end on the target', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    await from.root.write('kv2/metadata/a', { delete_version_after: '1h' })
    await put(from, 'a', { v: 1 })

    await importAll(from, to, { only: 'kv' })

    const endOf = async ({ root }: TestServer) =>
      Date.parse(
        String((await root.read('kv2/metadata/a')).body['data']?.['versions']?.['1']?.['deletion_time']),
      )
    expect(Math.abs((await endOf(to)) - (await endOf(from)))).toBeLessThan(60_000)
    expect((await to.root.read('kv2/metadata/a')).body['data']).toMatchObject({
      delete_version_after: '1h0m0s',
    })
  })

  test('that the mount of the target deletes earlier are reported', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    await put(from, 'a', { v: 1 })
    await from.root.write('kv2/metadata/b', { delete_version_after: '1h' })
    await put(from, 'b', { v: 1 })
    await to.root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
    await to.root.write('kv2/config', { delete_version_after: '2h' })

    const { imported, failed } = await importAll(from, to, { only: 'kv' })

    expect(pathsOf(imported, 'secret').toSorted()).toEqual(['kv2/a', 'kv2/b'])
    expect(failed).toMatchObject([{ kind: 'secret_version', path: 'kv2/a version 1' }])
  })

  test('whose import was interrupted continue where it stopped', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    for (const v of [1, 2, 3]) await put(from, 'a', { v })
    await to.root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
    await to.root.write('kv2/metadata/a', { custom_metadata: { 'gatehouse-import': 'unfinished' } })
    await put(to, 'a', { v: 1 })

    const { imported } = await importAll(from, to, { only: 'kv' })

    expect(pathsOf(imported, 'secret')).toContain('kv2/a')
    for (const version of [1, 2, 3])
      expect((await to.root.read(`kv2/data/a?version=${version}`)).body['data']?.['data']).toEqual({
        v: version,
      })
    expect((await to.root.read('kv2/metadata/a')).body['data']).toMatchObject({
      current_version: 3,
      custom_metadata: null,
    })
  })

  test('whose versions disappear meanwhile have no other value on the target', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    for (const v of [1, 2, 3]) await put(from, 'a', { v })
    await using racing = await startBetween(from, async (request, answer) => {
      const isRead = request.url.startsWith('/v1/kv2/data/a?version=2')
      if (!isRead) return answer
      await from.root.write('kv2/destroy/a', { versions: [2] })
      return passOn(from, request)
    })

    const { imported, failed } = await importAll(racing.server, to, { only: 'kv' })

    expect(pathsOf(imported, 'secret')).toEqual(['kv2/a'])
    expect(failed).toMatchObject([{ kind: 'secret_version', path: 'kv2/a version 2' }])
    expect((await to.root.read('kv2/data/a?version=2')).status).toBe(404)
    expect((await to.root.read('kv2/metadata/a')).body['data']?.['versions']).toMatchObject({
      1: { destroyed: false },
      2: { destroyed: true },
      3: { destroyed: false },
    })
  })

  test('of the target stay, and a mount of the other version is reported', async () => {
    await using servers = await twoServers()
    const { from, to } = servers
    await put(from, 'a', { v: 'theirs' })
    await put(from, 'b', { v: 'theirs' })
    await from.root.write('sys/mounts/kv1', { type: 'kv' })
    await to.root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
    await to.root.write('sys/mounts/kv1', { type: 'kv', options: { version: '2' } })
    await put(to, 'a', { v: 'ours' })

    const { existed, failed } = await importAll(from, to, { only: 'kv' })

    expect(pathsOf(existed, 'secret')).toContain('kv2/a')
    expect((await to.root.read('kv2/data/a')).body['data']?.['data']).toEqual({ v: 'ours' })
    expect((await to.root.read('kv2/data/b')).body['data']?.['data']).toEqual({ v: 'theirs' })
    expect(failed).toMatchObject([{ path: 'kv1/', reason: 'the target has type kv version 2 here' }])
  })
})

describe('an object that differs', () => {
  test('is told by a second run, field by field, and brought over by an update', async () => {
    await using from = await startFilled()
    await using to = await startTestServer()
    await from.root.write('sys/auth/people', { type: 'userpass' })
    await from.root.write('auth/people/users/bob', { password: 'theirs', token_policies: ['reader'] })
    await from.root.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
    await from.root.write('kv2/config', { max_versions: 5 })
    await importAll(from, to)
    await to.root.write('auth/people/users/bob', { password: 'ours-ours' })
    await from.root.write('sys/policies/acl/reader', { policy: 'path "new" {}' })
    await from.root.write('auth/ci/role/build', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: ['a', 'b'],
      token_ttl: '20m',
    })
    await from.root.write('auth/ci/config', {
      bound_issuer: 'https://other',
      jwt_validation_pubkeys: [aSigner().pem],
    })
    await from.root.write('auth/people/users/bob', { token_policies: ['other'] })
    await from.root.write('identity/entity/name/alice', { metadata: { team: 'ops' } })
    const eve = await from.root.write('identity/entity', { name: 'eve' })
    const alice = await from.root.read('identity/entity/name/alice')
    const members = [alice, eve].map(({ body }) => String(body['data']?.['id']))
    await from.root.write('identity/group/name/inner', { member_entity_ids: members })
    await from.root.write('sys/auth/ci/tune', { description: 'changed', default_lease_ttl: '2h' })
    await from.root.write('kv2/config', { max_versions: 6 })
    await from.root.write('sys/policies/password/database', {
      policy: 'length = 30 rule "charset" { charset = "abc" }',
    })

    const second = await importAll(from, to)
    const update = await importAll(from, to, { update: true })
    const last = await importAll(from, to)

    const notes = {
      'auth/ci/': 'it differs in default_lease_ttl, description',
      'auth/ci/config': 'it differs in bound_issuer, jwt_validation_pubkeys',
      'auth/ci/role/build': 'it differs in bound_audiences, callback_mode, token_ttl',
      'auth/people/users/bob': 'it differs in token_policies',
      'identity/entity/name/alice': 'it differs in metadata',
      'identity/group/name/inner': 'it differs in member_entity_ids',
      'sys/policies/acl/reader': 'it differs',
      'sys/policies/password/database': 'it differs',
      'kv2/config': 'it differs in max_versions',
    }
    const noted = (items: Listed[]) =>
      Object.fromEntries(items.flatMap(({ path, note }) => (note === undefined ? [] : [[path, note]])))
    const staying = Object.entries(notes).map(([path, note]) => [path, `${note}, and stays as it is`])
    expect(noted(second.existed)).toEqual(Object.fromEntries(staying))
    expect(second).toMatchObject({ failed: [], updated: [], summary: { differ: staying.length } })
    expect(noted(update.updated)).toEqual(notes)
    expect(update.failed).toEqual([])
    expect(last.summary).toMatchObject({ imported: 0, updated: 0, differ: 0, failed: 0 })
    for (const path of ['auth/ci/config', 'auth/ci/role/build', 'kv2/config', 'auth/people/users/bob'])
      expect((await to.root.read(path)).body['data'], path).toEqual((await from.root.read(path)).body['data'])
    // the password is the target's
    const login = await to.anonymous.write('auth/people/login/bob', { password: 'ours-ours' })
    expect(login.status).toBe(200)
  })

  test('is not updated if it is somebody else of the same name', async () => {
    await using from = await borrowServer()
    await using to = await borrowServer()
    for (const [server, policies] of [
      [from, ['theirs']],
      [to, ['ours']],
    ] as const) {
      const entity = await server.root.write('identity/entity', { name: 'alice', policies })
      const accessor = String((await server.root.read('sys/auth')).body['data']?.['jwt/']?.['accessor'])
      await server.root.write('identity/entity-alias', {
        name: policies[0],
        mount_accessor: accessor,
        canonical_id: entity.body['data']?.['id'],
      })
    }

    const { updated, existed } = await importAll(from, to, { update: true })

    expect(updated).toEqual([])
    expect(existed).toContainEqual({ kind: 'entity', namespace: '', path: 'identity/entity/name/alice' })
    expect((await to.root.read('identity/entity/name/alice')).body['data']).toMatchObject({
      policies: ['ours'],
    })
  })
})

test.each(['a\nb', '..', 'x/\u0001'])('entities and groups may have the name %j', async (name) => {
  await using from = await borrowServer()
  await using to = await borrowServer()
  const entity = await from.root.write('identity/entity', { name, policies: ['p'] })
  await from.root.write('identity/group', { name, member_entity_ids: [entity.body['data']?.['id']] })

  const first = await importAll(from, to)
  const second = await importAll(from, to)

  expect(first.failed).toEqual([])
  expect(second).toMatchObject({ imported: [], failed: [] })
  const ours = (await to.root.write('identity/lookup/entity', { name })).body['data']
  expect(ours).toMatchObject({ name, policies: ['p'] })
  expect((await to.root.write('identity/lookup/group', { name })).body['data']).toMatchObject({
    name,
    member_entity_ids: [ours?.['id']],
  })
})

test('a refusal without a reason names the request', async () => {
  const from = await sharedSource()
  await using to = await startTestServer()
  await using silent = await startBetween(from, async ({ url }, answer) =>
    url.startsWith('/v1/auth/ci/role/build') ? { ...answer, status: 400, body: Buffer.from('{}') } : answer,
  )

  const { failed } = await importAll(silent.server, to, { only: 'auth,namespaces' })

  expect(failed).toMatchObject([
    { path: 'auth/ci/role/build', reason: 'HTTP 400: no reason is given for GET "auth/ci/role/build"' },
  ])
})

test('the report lists what no import carries, and where the source has it', async () => {
  await using from = await startFilled()
  await using to = await borrowServer()
  await from.root.write('sys/quotas/rate-limit/all', { rate: 1000 })
  await from.root.write('sys/config/cors', { allowed_origins: ['https://a'] })
  await from.root.write('sys/config/auditing/request-headers/X-Team', { hmac: true })
  await from.root.write('team/sys/auth/people', { type: 'userpass' })
  await from.root.write('sys/auth/machines', { type: 'approle' })
  await from.root.write('identity/oidc/role/web', { key: 'default' })

  const { never_carried } = await importAll(from, to, { dryRun: true })

  const found = Object.fromEntries(never_carried.map((left) => [left.kind, left.found]))
  expect(found).toMatchObject({
    quotas: ['sys/quotas/rate-limit/all'],
    cors: ['sys/config/cors'],
    audited_headers: [expect.stringMatching(/^sys\/config\/auditing\/request-headers\/x-team$/i)],
    tokens: ['auth/token/accessors'],
    leases: [],
    audit_devices: [],
    secret_ids: ['auth/machines/'],
    passwords: ['team/auth/people/'],
    identity_tokens: expect.arrayContaining(['identity/oidc/role/web']),
  })
  expect(never_carried.every(({ instead }) => instead !== '')).toBe(true)
})

test('roles of approle keep their role ids, and users come without their passwords', async () => {
  await using from = await borrowServer()
  await using to = await borrowServer()
  await from.root.write('sys/auth/machines', { type: 'approle' })
  await from.root.write('auth/machines/role/ci', { token_policies: ['reader'], secret_id_ttl: '1h' })
  await from.root.write('sys/auth/people', { type: 'userpass' })
  await from.root.write('auth/people/users/bob', { password: 'canary-password', token_policies: ['reader'] })

  const { imported, failed } = await importAll(from, to)

  expect(failed).toEqual([])
  expect(imported).toContainEqual({
    kind: 'auth_role',
    namespace: '',
    path: 'auth/people/users/bob',
    note: 'with a random password: set one',
  })
  for (const path of ['role/ci', 'role/ci/role-id'].map((role) => `auth/machines/${role}`))
    expect((await to.root.read(path)).body['data'], path).toEqual((await from.root.read(path)).body['data'])
  expect((await to.root.read('auth/people/users/bob')).body['data']).toMatchObject({
    token_policies: ['reader'],
  })
  const login = await to.anonymous.write('auth/people/login/bob', { password: 'canary-password' })
  expect(login.status).toBe(400)
})

describe('mounts of type kubernetes', () => {
  const config = {
    kubernetes_host: 'https://127.0.0.1:1',
    disable_local_ca_jwt: true,
    issuer: 'https://cluster',
    disable_iss_validation: false,
  }
  const withPods = async (more: object = {}): Promise<TestServer> => {
    const from = await borrowServer()
    await from.root.write('sys/auth/pods', { type: 'kubernetes' })
    await from.root.write('auth/pods/config', { ...config, ...more })
    await from.root.write('auth/pods/role/web', {
      bound_service_account_names: 'web',
      bound_service_account_namespace_selector: '{"matchLabels":{"team":"a"}}',
      audience: 'gatehouse',
      policies: 'reader',
    })
    return from
  }
  const shown = async (server: TestServer, path: string) => (await server.root.read(path)).body['data']
  const sharedPods = shared(withPods)

  test('come with configuration and roles', async () => {
    const from = await sharedPods()
    await using to = await borrowServer()

    const { failed } = await importAll(from, to)
    const again = await importAll(from, to)

    expect(failed).toEqual([])
    for (const path of ['auth/pods/config', 'auth/pods/role/web'])
      expect(await shown(to, path)).toEqual(await shown(from, path))
    expect(again.summary).toMatchObject({ imported: 0, differ: 0, failed: 0 })
  })

  test.each([
    ['v1.21.4+builtin.vault', false],
    ['v0.24.1+builtin', false],
    ['v2.6.3+builtin.bao', false],
    ['v2.6.4+builtin.bao', true],
    ['v2.7.0+builtin.bao', false],
    ['v2.7.2+builtin.bao', true],
    ['v2.8.0+builtin.bao', true],
    ['v3.0.0+builtin.bao', true],
  ])('of a server with plugin %s have the renewals of that server', async (version, reviews) => {
    const from = await sharedPods()
    await using to = await borrowServer()
    await using other = await startLying(from, {
      'sys/auth': ({ 'pods/': mount, ...others }) => ({
        ...others,
        'pods/': { ...Object(mount), running_plugin_version: version },
      }),
      'auth/pods/role/web': ({ renewal_review: _, ...role }) => role,
    })

    const { imported } = await importAll(other.server, to, { only: 'auth' })

    expect(await shown(to, 'auth/pods/role/web')).toMatchObject({ renewal_review: reviews })
    const note = 'renewals ask nobody, as on the source: set renewal_review'
    expect(imported.filter((one) => one.note === note)).toHaveLength(reviews ? 0 : 1)
  })

  test('with a token of a reviewer are reported, because no server shows it', async () => {
    await using from = await withPods({ token_reviewer_jwt: 'secret' })
    await using to = await borrowServer()

    const dry = await importAll(from, to, { dryRun: true })
    const { failed, imported } = await importAll(from, to)

    const reason = 'a server never shows its token_reviewer_jwt: write it to the target'
    const refused = [{ kind: 'auth_config', namespace: '', path: 'auth/pods/config', reason }]
    expect([dry.failed, failed]).toEqual([refused, refused])
    expect(pathsOf(imported, 'auth_role')).toEqual(['auth/pods/role/web'])
  })
})

describe('the command', () => {
  test('writes a report without secrets, and exits with 0 or 1', async () => {
    await using folder = await temporaryFolder()
    const from = await sharedSource()
    await using to = await startTestServer()
    await writeFile(folder.file('token'), 'root\n')
    const servers = ['--from', from.url, '--to', `${to.url}/`]
    const tokens = ['--from-token-file', 'token', '--to-token-file', 'token']

    const run = await runCommand('import', {
      folder: folder.path,
      args: [...servers, ...tokens, '--report', 'report.json'],
    })

    expect(run).toMatchObject({ code: 0, stdout: '' })
    expect(run.stderr).toContain('auth: 5 imported, 1 existed, 0 failed\n')
    const report = JSON.parse(await readFile(folder.file('report.json'), 'utf8'))
    expect(report).toMatchObject({ dry_run: false, complete: true, summary: { failed: 0 } })
    await to.root.delete('sys/auth/jwt')
    await to.root.write('sys/auth/jwt', { type: 'oidc' })

    const again = await commandHere('import', { folder: folder.path, args: [...servers, ...tokens] })

    expect(again.code).toBe(1)
    expect(JSON.parse(again.stdout)).toMatchObject({ summary: { imported: 0, failed: 1 } })
  })

  test('exits with 3 for a server that cannot be used, and with 2 for bad arguments', async () => {
    await using folder = await temporaryFolder()
    await using server = await borrowServer()
    await writeFile(folder.file('token'), 'root')
    await writeFile(folder.file('other'), 'hvs.nobody')
    const run = (url: string, file: string, ...more: string[]) => {
      const args = ['--from', url, '--from-token-file', file, '--to', server.url, '--to-token-file', 'token']
      return commandHere('import', { folder: folder.path, args: [...args, ...more] })
    }

    const gone = `http://127.0.0.1:${await freePort()}`

    const rejected = await run(server.url, 'other')
    const absent = await run(gone, 'token')
    const unknown = await run(server.url, 'token', '--only', 'policies,pki')
    const unwritten = await run(server.url, 'token', '--report', 'nowhere/report.json')

    expect(rejected).toMatchObject({ code: 3, stderr: `--from ${server.url} rejects the token\n` })
    expect(absent).toMatchObject({ code: 3, stderr: `--from ${gone} cannot be reached: ECONNREFUSED\n` })
    expect(unknown.code).toBe(2)
    // before anything is imported
    expect(unwritten).toMatchObject({ code: 1, stderr: 'cannot write nowhere/report.json: ENOENT\n' })
    expect(unknown.stderr).toContain('--only: pki is not one of policies')
  })
})
