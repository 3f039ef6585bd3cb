import { once } from 'node:events'
import { mkdir, symlink } from 'node:fs/promises'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuditFile, enableAuditFile } from '../support/audit-file.ts'
import { inside, type Json } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const stack = new AsyncDisposableStack()
let server: TestServer
let folder: string
let file: AuditFile

beforeAll(async () => {
  folder = stack.use(await temporaryFolder()).path
  server = stack.use(await startTestServer({ settings: { AUDIT_DIRS: join(folder, 'logs') } }))
  const { root } = server
  file = await enableAuditFile(root, join(folder, 'logs', 'audit.log'))
  await root.write('sys/policies/acl/u', {
    policy:
      'path "auth/jwt/role/*" { capabilities = ["read"] } path "cubbyhole/*" { capabilities = ["read"] }',
  })
  await root.write('sys/namespaces/ns1')
})
afterAll(() => stack.disposeAsync())

const denied = '1 error occurred:\n\t* permission denied\n\n'

async function userToken(): Promise<string> {
  const made = await server.root.write('auth/token/create', { policies: ['u'], ttl: '1h' })
  return String(made.body['auth']?.['client_token'])
}

async function hashOf(input: string): Promise<string> {
  const answer = await server.root.write('sys/audit-hash/file', { input })
  return String(answer.body['data']?.['hash'])
}

/** Sends a request with headers that may be repeated. */
async function sendWith(headers: OutgoingHttpHeaders): Promise<void> {
  const sent = request(`${server.url}/v1/sys/mounts`, { headers }).end()
  const [answer] = await once(sent, 'response')
  answer.resume()
  await once(answer, 'end')
}

const entryOf = (device: AuditFile, type: string, path: string): Json | undefined =>
  device
    .entries()
    .find((entry) => String(entry['type']) === type && String(entry['request']?.['path']) === path)

/** The members of an object in order, without `chain`. */
const keysOf = (entry: Json | undefined): string[] =>
  Object.keys(entry ?? {}).filter((key) => key !== 'chain')

describe('entries', () => {
  test('an allowed request writes a request and a response entry that show the caller', async () => {
    const [request, response, ...more] = await file.during(() => server.root.read('sys/mounts'))

    expect(more).toEqual([])
    expect(keysOf(request)).toEqual(['time', 'type', 'auth', 'request'])
    expect(keysOf(response)).toEqual(['time', 'type', 'auth', 'request', 'response'])
    const token = await hashOf('root')
    expect(request).toMatchObject({
      type: 'request',
      auth: {
        client_token: token,
        policies: ['root'],
        token_policies: ['root'],
        policy_results: {
          allowed: true,
          granting_policies: [{ name: 'root', namespace_id: 'root', type: 'acl' }],
        },
        token_type: 'service',
      },
      request: {
        operation: 'read',
        mount_point: 'sys/',
        mount_type: 'system',
        mount_running_version: 'v1.16.3+builtin.vault',
        mount_class: 'secret',
        client_token: token,
        namespace: { id: 'root' },
        path: 'sys/mounts',
        remote_address: '127.0.0.1',
      },
    })
    expect(response?.['request']).toEqual(request?.['request'])
    expect(response?.['response']).toMatchObject({ mount_point: 'sys/', data: { 'sys/': {} } })
  })

  test('the request id is that of the response', async () => {
    let id = ''
    const [request] = await file.during(async () => {
      id = String((await server.root.read('sys/mounts')).body['request_id'])
    })

    expect(request?.['request']?.['id']).toBe(id)
  })

  test('a request without a token is refused with the bare text, and its response with a list of causes', async () => {
    const [request, response] = await file.during(() => server.anonymous.read('sys/mounts'))

    expect(request).toMatchObject({ auth: { token_type: 'default' }, error: 'permission denied' })
    expect(keysOf(request?.['auth'])).toEqual(['token_type'])
    expect(response).toMatchObject({ auth: { token_type: 'default' }, error: denied })
    expect(response?.['response']?.['data']).toEqual({ error: await hashOf('permission denied') })
  })

  test('a request that policies refuse shows its caller as not allowed', async () => {
    const user = server.as(await userToken())
    const [request, response] = await file.during(() => user.read('sys/mounts'))

    for (const entry of [request, response])
      expect(entry).toMatchObject({
        error: denied,
        auth: { policies: ['default', 'u'], policy_results: { allowed: false }, token_ttl: 3600 },
      })
  })

  test('the policies that grant an operation are named', async () => {
    const user = server.as(await userToken())
    const [request] = await file.during(() => user.read('cubbyhole/a'))

    expect(request?.['auth']?.['policy_results']?.['granting_policies']).toEqual([
      { name: 'default', namespace_id: 'root', type: 'acl' },
      { name: 'u', namespace_id: 'root', type: 'acl' },
    ])
  })

  test.each([
    { name: 'unknown path', path: 'sys/none', error: 'unsupported path' },
    { name: 'no mount', path: 'none/x', error: 'unsupported path' },
    { name: 'wrong verb', path: 'sys/audit/file', error: 'unsupported operation' },
  ])('a refusal for $name names it', async ({ path, error }) => {
    const [request, response] = await file.during(() => server.root.read(path))

    expect(request?.['error']).toBeUndefined()
    expect(response?.['error']).toBe(`1 error occurred:\n\t* ${error}\n\n`)
  })

  test.each([
    { path: 'auth/jwt/role/a', field: 'allowed_redirect_uris', value: [{ canary: 'x' }] },
    { path: 'cloud/config', field: 'root_password_ttl', value: 'canary' },
    { path: 'cloud/roles/a', field: 'ttl', value: '5canary' },
    { path: 'auth/jwt/role/a', field: 'claim_mappings', value: 'canary' },
  ])('$field of $path: refused before the policies, without its value', async ({ path, field, value }) => {
    const [request, response] = await file.during(() => server.root.write(path, { [field]: value }))

    expect(request?.['auth']).toEqual({ token_type: 'default' })
    expect(request?.['error']).toBe(`error converting input for field "${field}"`)
    expect(response?.['error']).toBe('1 error occurred:\n\t* invalid request\n\n')
    expect(JSON.stringify([request, response]).replaceAll('"canary":', '')).not.toContain('canary')
  })

  test('a plain refusal of a handler has only the hash of its text', async () => {
    const text = 'cannot update "root" policy'
    const [, response] = await file.during(() =>
      server.root.write('sys/policies/acl/root', { policy: 'path "a" { capabilities = ["read"] }' }),
    )

    expect(response?.['error']).toBeUndefined()
    expect(response?.['response']?.['data']).toEqual({ error: await hashOf(text) })
  })

  test('a refused login shows its reason, and nothing of the JWT', async () => {
    const [request, response] = await file.during(() =>
      server.anonymous.write('auth/jwt/login', { jwt: 'the-secret-jwt' }),
    )

    expect(request?.['auth']).toEqual({ policy_results: { allowed: true }, token_type: 'default' })
    expect(response?.['reason']).toBe('config_missing')
    expect(file.text()).not.toContain('the-secret-jwt')
  })

  test('a new token is shown with its hashes', async () => {
    let id = ''
    const [, response] = await file.during(async () => {
      const made = await server.root.write('auth/token/create', { policies: ['u'], ttl: '1h', num_uses: 3 })
      id = String(made.body['auth']?.['client_token'])
    })

    expect(response?.['response']?.['auth']).toMatchObject({
      client_token: await hashOf(id),
      display_name: 'token',
      policies: ['default', 'u'],
      num_uses: 3,
      token_type: 'service',
      token_ttl: 3600,
    })
    expect(file.text()).not.toContain(id)
  })

  test('a token without an accessor shows none', async () => {
    const [, made] = await file.during(async () => {
      const token = await server.root.write('auth/token/create', { type: 'batch', policies: ['u'] })
      await server.as(String(token.body['auth']?.['client_token'])).read('auth/token/lookup-self')
    })
    const used = entryOf(file, 'request', 'auth/token/lookup-self')

    expect(made?.['response']?.['auth']).toMatchObject({ token_type: 'batch' })
    expect(made?.['response']?.['auth']).not.toHaveProperty('accessor')
    expect(used?.['auth']).toMatchObject({ token_type: 'batch' })
    expect(used?.['auth']).not.toHaveProperty('accessor')
    expect(used?.['request']).not.toHaveProperty('client_token_accessor')
  })

  test('a create and an update are told apart', async () => {
    const write = () => server.root.write('cubbyhole/told', { a: 'b' })

    expect((await file.during(write))[0]?.['request']?.['operation']).toBe('create')
    expect((await file.during(write))[0]?.['request']?.['operation']).toBe('update')
  })

  test('texts are hashed at any depth; times, numbers and keys are not', async () => {
    const raw =
      '{"text":"a","n":1.50,"big":12345678901234567890,"at":"2026-01-02T03:04:05Z","list":[{"in":"b"},true]}'
    const [request] = await file.during(() => server.root.call('POST', 'cubbyhole/deep', undefined, { raw }))

    expect(request?.['request']?.['data']).toMatchObject({
      text: await hashOf('a'),
      at: '2026-01-02T03:04:05Z',
      list: [{ in: await hashOf('b') }, true],
    })
    expect(file.text()).toContain('"n":1.50,"big":12345678901234567890,')
  })

  test('of a field that carries a secret, numbers and times are hashed, too', async () => {
    await server.root.write('sys/auth/up', { type: 'userpass' })
    await server.root.write('sys/auth/ar', { type: 'approle' })
    await server.root.write('auth/ar/role/r')
    const time = '2026-01-02T03:04:05Z'
    const shown = async (path: string, body: object) => {
      const [request, response] = await file.during(() => server.root.write(path, body))
      return [request?.['request']?.['data'], response?.['response']?.['data']] as const
    }

    const [number] = await shown('auth/up/users/bob', { password: 19_840_512, token_ttl: 60 })
    const [list] = await shown('auth/up/login/bob', { password: [19_840_512, true] })
    const [chosen, stored] = await shown('auth/ar/role/r/custom-secret-id', { secret_id: time, num_uses: 5 })
    const [token] = await shown('auth/token/create', { id: 19_840_512, ttl: 60 })
    const [looked] = await shown('sys/capabilities', { token: 19_840_512, paths: ['a'] })

    expect(number).toEqual({ password: await hashOf('19840512'), token_ttl: 60 })
    expect(list).toEqual({ password: [await hashOf('19840512'), await hashOf('true')] })
    expect(token).toEqual({ id: await hashOf('19840512'), ttl: 60 })
    expect(looked).toMatchObject({ token: await hashOf('19840512') })
    expect(chosen).toEqual({ secret_id: await hashOf(time), num_uses: 5 })
    expect(stored).toMatchObject({ secret_id: await hashOf(time) })
  })

  test('of values of secrets, everything is hashed, wherever they are sent', async () => {
    await server.root.write('sys/mounts/first', { type: 'kv', options: { version: '1' } })
    await server.root.write('sys/mounts/second', { type: 'kv', options: { version: '2' } })
    const raw = '{"pin":4711.50,"on":true,"none":null,"at":"2026-01-02T03:04:05Z","in":[{"deep":[7]}]}'
    const hashed = {
      pin: await hashOf('4711.50'),
      on: await hashOf('true'),
      none: null,
      at: await hashOf('2026-01-02T03:04:05Z'),
      in: [{ deep: [await hashOf('7')] }],
    }
    const shown = async (act: () => Promise<unknown>) => {
      const [request, response] = await file.during(async () => void (await act()))
      return [request?.['request']?.['data'], response?.['response']?.['data']] as const
    }
    const { root } = server

    const [first] = await shown(() => root.call('POST', 'first/a', undefined, { raw }))
    const [, ofFirst] = await shown(() => root.read('first/a'))
    const sent = `{"data":${raw},"options":{"cas":0}}`
    const [second, written] = await shown(() => root.call('POST', 'second/data/a', undefined, { raw: sent }))
    const [, ofSecond] = await shown(() => root.read('second/data/a'))
    const [bare] = await shown(() => root.call('POST', 'second/data/a', undefined, { raw }))
    const [stray] = await shown(() => root.call('POST', 'second/a', undefined, { raw }))
    const headers = { 'x-vault-wrap-ttl': '60' }
    const [wrap] = await shown(() => root.call('POST', 'sys/wrapping/wrap', undefined, { raw, headers }))
    const wrapped = await root.call('GET', 'second/data/a', undefined, { headers })
    const token = wrapped.body.wrap_info?.token
    const [, unwrapped] = await shown(() => root.write('sys/wrapping/unwrap', { token }))

    expect([first, ofFirst, bare, stray, wrap]).toEqual([hashed, hashed, hashed, hashed, hashed])
    expect(second).toEqual({ data: hashed, options: { cas: 0 } })
    expect(written).toMatchObject({
      version: 1,
      destroyed: false,
      created_time: expect.stringMatching(/^\d/),
    })
    expect(ofSecond).toMatchObject({ data: hashed, metadata: { version: 1, destroyed: false } })
    expect(unwrapped).toMatchObject({ data: hashed })
  })

  test('long data is shown like any other', async () => {
    const n = Array.from({ length: 3000 }, (_, at) => at)
    const [request, response] = await file.during(async () => {
      await server.root.write('cubbyhole/long', { n, text: 'a' })
    })

    expect(request?.['request']).toMatchObject({
      path: 'cubbyhole/long',
      data: { n, text: await hashOf('a') },
    })
    expect(response?.['request']).toEqual(request?.['request'])
    expect(Object.keys(request?.['request'] ?? {}).slice(-4)).toEqual([
      ...['path', 'data', 'remote_address', 'remote_port'],
    ])
  })

  test('keys that a mount names stay in clear text, also in lists, but not further down', async () => {
    const body = { open: ['a', { open: 'b', shut: 'c' }] }
    await server.root.write('sys/mounts/cubbyhole/tune', { audit_non_hmac_request_keys: 'open' })
    const [request] = await file.during(() => server.root.write('cubbyhole/keys', body))
    await server.root.write('sys/mounts/cubbyhole/tune', { audit_non_hmac_request_keys: '' })

    expect(request?.['request']?.['data']).toEqual({ open: ['a', { open: 'b', shut: await hashOf('c') }] })
  })

  test('a wrapped response shows only the wrapping token, and unwrapping shows the content', async () => {
    let token = ''
    const [, wrapped] = await file.during(async () => {
      const answer = await server.root.write(
        'sys/wrapping/wrap',
        { a: 'canary-wrapped' },
        { headers: { 'X-Vault-Wrap-TTL': '60' } },
      )
      token = String(answer.body['wrap_info']?.['token'])
    })
    const [, unwrapped] = await file.during(() => server.root.write('sys/wrapping/unwrap', { token }))

    expect(keysOf(wrapped?.['response'])).toEqual([
      ...['mount_point', 'mount_type', 'mount_accessor', 'mount_running_plugin_version', 'mount_class'],
      'wrap_info',
    ])
    expect(wrapped?.['response']?.['wrap_info']).toMatchObject({ ttl: 60, token: await hashOf(token) })
    expect(unwrapped?.['response']?.['data']).toEqual({ a: await hashOf('canary-wrapped') })
    expect(file.text()).not.toContain('canary-wrapped')
  })

  test('a namespace is named by id and path', async () => {
    const [request] = await file.during(() => server.root.read('sys/mounts', inside('ns1')))

    expect(request?.['request']).toMatchObject({ namespace: { path: 'ns1/' }, path: 'sys/mounts' })
    expect(request?.['request']?.['namespace']?.['id']).not.toBe('root')
  })
})

describe('what is not logged', () => {
  test.each([
    { name: 'health', call: () => server.anonymous.read('sys/health') },
    { name: 'health as a probe', call: () => server.anonymous.read('/health/ready') },
    { name: 'seal status', call: () => server.anonymous.read('sys/seal-status') },
    { name: 'leader', call: () => server.anonymous.read('sys/leader') },
    { name: 'init', call: () => server.anonymous.read('sys/init') },
    { name: 'metrics', call: () => server.root.read('sys/metrics') },
    { name: 'an unknown namespace', call: () => server.root.read('sys/mounts', inside('none')) },
    { name: 'bad JSON', call: () => server.root.call('POST', 'cubbyhole/a', undefined, { raw: '{' }) },
    { name: 'a write to a path with a slash', call: () => server.root.write('sys/mounts/', {}) },
  ])('$name', async ({ call }) => {
    expect(await file.during(call)).toEqual([])
  })
})

describe('request headers', () => {
  test('registered headers are shown, hashed if wanted', async () => {
    const path = 'sys/config/auditing/request-headers'
    await server.root.write(`${path}/X-Foo`, { hmac: true })
    await server.root.write(`${path}/x-bar`, {})
    const headers = { 'X-Foo': 'a', 'X-Bar': 'b', 'X-Baz': 'c' }
    const [request] = await file.during(() => server.root.read('sys/mounts', { headers }))

    expect(request?.['request']?.['headers']).toEqual({ 'x-foo': [await hashOf('a')], 'x-bar': ['b'] })
    const all = await server.root.read(path)
    expect(all.body['headers']).toEqual({ 'x-foo': { hmac: true }, 'x-bar': { hmac: false } })
    expect((await server.root.read(`${path}/X-Foo`)).body['data']).toEqual({ 'X-Foo': { hmac: true } })
    expect((await server.root.delete(`${path}/X-Foo`)).status).toBe(204)
    expect(await server.root.read(`${path}/X-Foo`)).toMatchObject({
      status: 400,
      body: { errors: ['Could not find header in config'] },
    })
  })

  test.each(['constructor', 'valueOf'])('%s is a name like any other', async (name) => {
    const path = `sys/config/auditing/request-headers/${name}`
    expect((await server.root.read(path)).status).toBe(400)
    expect((await server.root.write(path, {})).status).toBe(204)

    const [without] = await file.during(() => server.root.read('sys/mounts'))
    const [sent] = await file.during(() => server.root.read('sys/mounts', { headers: { [name]: 'a' } }))

    expect(without?.['request']).not.toHaveProperty('headers')
    expect(JSON.stringify(sent?.['request']?.['headers'])).toBe(`{"${name.toLowerCase()}":["a"]}`)
    expect((await server.root.delete(path)).status).toBe(204)
  })

  test('a repeated header is shown with each value, and all as UTF-8', async () => {
    const path = 'sys/config/auditing/request-headers/X-Foo'
    const values = ['a', 'b, c', Buffer.from('é').toString('latin1')]
    await server.root.write(path, {})
    const [clear] = await file.during(() => sendWith({ 'X-Foo': values }))
    await server.root.write(path, { hmac: true })
    const [hashed] = await file.during(() => sendWith({ 'X-Foo': values }))
    await server.root.delete(path)

    expect(clear?.['request']?.['headers']).toMatchObject({ 'x-foo': ['a', 'b, c', 'é'] })
    expect(hashed?.['request']?.['headers']).toMatchObject({
      'x-foo': [await hashOf('a'), await hashOf('b, c'), await hashOf('é')],
    })
  })

  test('headers with credentials are always hashed', async () => {
    const path = 'sys/config/auditing/request-headers/X-Vault-Token'
    await server.root.write(path, { hmac: false })
    const [request] = await file.during(() => server.root.read('sys/mounts'))
    await server.root.delete(path)

    expect(request?.['request']?.['headers']).toEqual({ 'x-vault-token': [await hashOf('root')] })
  })
})

describe('devices', () => {
  const enable = (name: string, options: Record<string, unknown>, type = 'file') =>
    server.root.write(`sys/audit/${name}`, { type, options })

  test('are listed with their options, and hash with a salt of their own', async () => {
    const path = join(folder, 'logs', 'second.log')
    const second = await enableAuditFile(server.root, path, { name: 'second', options: { mode: '0640' } })
    const listed = await server.root.read('sys/audit')
    await server.root.read('sys/mounts')
    // one device suffices for a response; this one has written when it is closed
    await server.root.delete('sys/audit/second')
    const request = entryOf(second, 'request', 'sys/mounts')

    const shown = { path: 'second/', type: 'file', description: '', local: false }
    expect(listed.body['data']?.['second/']).toEqual({ ...shown, options: { file_path: path, mode: '0640' } })
    expect(listed.body['second/']).toEqual(listed.body['data']?.['second/'])
    expect(request?.['request']?.['client_token']).not.toBe(await hashOf('root'))
    expect((await server.root.write('sys/audit-hash/second', { input: 'a' })).body['errors']).toEqual([
      'unknown audit backend "second/"',
    ])
  })

  test('log_raw shows everything, hmac_accessor accessors, elide_list_responses only counts', async () => {
    const options = { log_raw: 'true', elide_list_responses: 'true' }
    const raw = await enableAuditFile(server.root, join(folder, 'logs', 'raw.log'), { name: 'raw', options })
    const clear = await enableAuditFile(server.root, join(folder, 'logs', 'clear.log'), {
      name: 'clear',
      options: { hmac_accessor: 'false' },
    })
    await server.root.list('sys/policies/acl')
    await server.root.delete('sys/audit/raw')
    await server.root.delete('sys/audit/clear')

    const shown = entryOf(raw, 'response', 'sys/policies/acl/')
    expect(shown?.['request']?.['client_token']).toBe('root')
    expect(shown?.['response']?.['data']).toEqual({ keys: 3 })
    const accessed = entryOf(clear, 'request', 'sys/policies/acl/')
    expect(String(accessed?.['request']?.['client_token_accessor'])).not.toContain('hmac-sha256')
    expect(String(accessed?.['request']?.['client_token'])).toContain('hmac-sha256')
  })

  test.each([
    { name: 'path in use', path: 'file', type: 'file', options: {}, error: 'path already in use' },
    {
      name: 'path below one in use',
      path: 'file/a',
      type: 'file',
      options: {},
      error: 'path already in use',
    },
    { name: 'no type', path: 'x', type: 'x', options: {}, error: 'unknown backend type: "x"' },
    { name: 'no file', path: 'x', type: 'file', options: {}, error: 'file_path is required' },
    {
      name: 'prefix',
      path: 'x',
      type: 'file',
      options: { file_path: 'discard', prefix: 'p' },
      error: 'audit log prefixing is not allowed',
    },
    {
      name: 'format',
      path: 'x',
      type: 'file',
      options: { file_path: 'discard', format: 'xml' },
      error: 'unknown format type "xml"',
    },
    {
      name: 'file elsewhere',
      path: 'x',
      type: 'file',
      options: { file_path: '/etc/passwd' },
      error: 'file_path is not in an allowed directory',
    },
    {
      name: 'file that others may write',
      path: 'x',
      type: 'file',
      options: { file_path: 'discard', mode: '0620' },
      error: 'mode lets the group or others write to the file',
    },
    {
      name: 'file with a line break in its name',
      path: 'x',
      type: 'file',
      options: { file_path: 'a\nb' },
      error: 'file_path contains a control character',
    },
    {
      name: 'host elsewhere',
      path: 'x',
      type: 'http',
      options: { uri: 'https://collector.example' },
      error: 'uri is not an allowed host',
    },
  ])('are refused: $name', async ({ path, type, options, error }) => {
    const refused = await enable(path, options, type)

    expect(refused.status).toBe(400)
    expect(refused.body['errors']).toEqual([error])
  })

  test('a link out of the allowed directory is no way to another file', async () => {
    const outside = join(folder, 'outside')
    await mkdir(outside)
    await symlink(outside, join(folder, 'logs', 'link'))
    const refused = await enable('x', { file_path: join(folder, 'logs', 'link', 'a.log') })

    expect(refused.body['errors']).toEqual(['file_path is not in an allowed directory'])
  })

  test('two devices cannot write to one file', async () => {
    const refused = await enable('x', { file_path: join(folder, 'logs', '..', 'logs', 'audit.log') })

    expect(refused.body['errors']).toEqual(['another audit device writes to this file'])
  })

  test('a file that cannot be opened is refused with the cause', async () => {
    await mkdir(join(folder, 'logs', 'a-folder'))
    const path = join(folder, 'logs', 'a-folder')
    const refused = await enable('x', { file_path: path })

    expect(refused.status).toBe(400)
    expect(String(refused.body['errors']?.[0])).toContain(
      `audit backend failed test message: sanity check failed; unable to open "${path}" for writing: `,
    )
    expect(keysOf((await server.root.read('sys/audit')).body['data'])).toEqual(['file/'])
  })

  test('an empty text has no hash', async () => {
    const refused = await server.root.write('sys/audit-hash/file', { input: '' })

    expect(refused.body['errors']).toEqual(['the "input" parameter is empty'])
  })

  test('exist only in the root namespace, and disabling one that is absent is no error', async () => {
    expect((await server.root.read('sys/audit', inside('ns1'))).body['errors']).toEqual([
      'operation only available in root namespace',
    ])
    expect((await server.root.delete('sys/audit/none')).status).toBe(204)
  })
})
