import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallOptions, Client } from '../support/client.ts'
import { caused, errors, errorText, invalidToken, notAccepted, notAllowed } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

type Who = '–' | 'R' | 'U' | 'W'
type Case = {
  name: string
  ask: [method: string, path: string, body?: unknown]
  as?: Who
  with?: CallOptions
  status: number
  body?: object
  text?: RegExp
}

let server: TestServer
const clients: Partial<Record<Who, Client>> = {}

beforeAll(async () => {
  server = await startTestServer()
  const { root } = server
  const tokenOf = async (name: string, policy: string): Promise<Client> => {
    expect((await root.write(`sys/policies/acl/${name}`, { policy })).status).toBe(204)
    const created = await root.write('auth/token/create', { policies: [name] })
    return server.as(String(created.body['auth']?.['client_token']))
  }
  clients['–'] = server.anonymous
  clients.R = root
  clients.U = await tokenOf('u', 'path "auth/jwt/role/*" { capabilities = ["read"] }')
  clients.W = await tokenOf(
    'w',
    'path "auth/jwt/role/*" { capabilities = ["create","update","read","delete","list"] }',
  )
})
afterAll(() => server[Symbol.asyncDispose]())

const client = (who: Who = 'R'): Client => {
  const found = clients[who]
  if (found === undefined) throw new Error(`no client ${who}`)
  return found
}

const noRoute = (path: string) => errors(`no handler for route "${path}". route entry not found.`)
const unsupportedPath = errors(caused('unsupported path'))
const unsupportedOperation = errors(caused('unsupported operation'))

async function play({ ask, as, with: options, status, body, text }: Case): Promise<void> {
  const [method, path, sent] = ask
  const answer = await client(as).call(method, path, sent, options)

  expect(answer).toMatchObject({ status })
  if (body !== undefined) expect(answer.body).toEqual(body)
  if (text !== undefined) expect(errorText(answer.body)).toMatch(text)
  if (answer.text !== '') expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains')
}

const self = 'auth/token/lookup-self'
const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['x'] }
const strings = (count: number) => ({ paths: Array.from({ length: count }, (_, index) => `s${index}`) })

describe('transport and envelope', () => {
  test.each<Case>([
    { name: 'health with another code', ask: ['GET', 'sys/health?activecode=299'], as: '–', status: 299 },
    {
      name: 'a code that is not a number',
      ask: ['GET', 'sys/health?sealedcode=abc'],
      as: '–',
      status: 400,
      body: errors(),
    },
    { name: 'POST health', ask: ['POST', 'sys/health'], as: '–', status: 405, body: errors() },
    { name: '/v1 without slash', ask: ['GET', '/v1'], as: '–', status: 404, body: errors() },
    { name: 'a path without /v1 is the same path', ask: ['GET', '/foo'], status: 404, body: noRoute('foo') },
    { name: 'no mount, no token', ask: ['GET', 'nope'], as: '–', status: 403, body: notAccepted },
    { name: 'no mount, no right', ask: ['GET', 'nope'], as: 'U', status: 403, body: notAllowed },
    { name: 'no mount, every right', ask: ['GET', 'nope'], status: 404, body: noRoute('nope') },
    { name: 'unknown path in a mount', ask: ['GET', 'cloud/nope'], status: 404, body: unsupportedPath },
    {
      name: 'a verb the path has not',
      ask: ['DELETE', 'auth/jwt/config'],
      status: 405,
      body: unsupportedOperation,
    },
    {
      name: 'the same on a login path',
      ask: ['GET', 'auth/jwt/login'],
      as: '–',
      status: 405,
      body: errors('unsupported operation'),
    },
    {
      name: 'a bad token',
      ask: ['GET', 'auth/jwt/config'],
      as: '–',
      with: { headers: { 'X-Vault-Token': 'bad' } },
      status: 403,
      body: invalidToken,
    },
    {
      name: 'Bearer',
      ask: ['GET', self],
      as: '–',
      with: { headers: { Authorization: 'Bearer root' } },
      status: 200,
    },
    {
      name: 'bearer',
      ask: ['GET', self],
      as: '–',
      with: { headers: { Authorization: 'bearer root' } },
      status: 403,
      body: notAccepted,
    },
    {
      name: 'X-Vault-Token wins',
      ask: ['GET', self],
      with: { headers: { Authorization: 'Bearer bad' } },
      status: 200,
    },
    { name: 'list=maybe', ask: ['GET', 'sys/policies/acl?list=maybe'], status: 400, body: errors() },
    {
      name: 'list and scan',
      ask: ['GET', 'sys/policies/acl?list=true&scan=true'],
      status: 400,
      body: errors(),
    },
    { name: 'a list of nothing', ask: ['LIST', 'auth/jwt/role'], status: 404, body: errors() },
    { name: 'an absent role', ask: ['GET', 'auth/jwt/role/x'], status: 404, body: errors() },
    { name: 'read of a collection', ask: ['GET', 'auth/jwt/role'], status: 405, body: unsupportedOperation },
    { name: 'list of an item', ask: ['LIST', 'auth/jwt/role/x'], status: 404, body: unsupportedPath },
    { name: 'a name that is none', ask: ['GET', 'auth/jwt/role/bad.'], status: 404, body: unsupportedPath },
    {
      name: 'a write to a folder',
      ask: ['POST', 'auth/jwt/role/'],
      as: '–',
      status: 400,
      body: errors("cannot write to a path ending in '/'"),
    },
    { name: 'a verb nobody offers', ask: ['PROPFIND', 'sys/health2'], status: 405, body: errors() },
    { name: 'HEAD with rights', ask: ['HEAD', 'auth/jwt/config'], status: 405 },
    { name: 'HEAD without', ask: ['HEAD', 'auth/jwt/config'], as: 'U', status: 403 },
    {
      name: 'an encoded ..',
      ask: ['GET', 'cloud/%2e%2e/sys/mounts'],
      status: 400,
      body: errors('relative paths not supported'),
    },
    { name: 'no body', ask: ['POST', self], status: 200 },
    { name: 'null', ask: ['POST', self], with: { raw: 'null' }, status: 200 },
    {
      name: 'half an object',
      ask: ['POST', self],
      with: { raw: '{' },
      status: 400,
      text: /^failed to parse JSON input: .*unexpected EOF$/,
    },
    {
      name: 'an array',
      ask: ['POST', self],
      with: { raw: '[]' },
      status: 400,
      text: /cannot unmarshal array/,
    },
    {
      name: 'a string',
      ask: ['POST', self],
      with: { raw: '"x"' },
      status: 400,
      text: /cannot unmarshal string/,
    },
    {
      name: 'a body of 34 MiB',
      ask: ['POST', self],
      with: { raw: Buffer.alloc(34 * 1024 * 1024, ' ') },
      status: 413,
      body: errors('http: request body too large'),
    },
    {
      name: 'JSON as text/plain',
      ask: ['POST', self],
      with: { raw: '{}', headers: { 'Content-Type': 'text/plain' } },
      status: 200,
    },
    {
      name: '1,001 strings',
      ask: ['POST', 'sys/capabilities-self', strings(1000)],
      status: 400,
      body: errors('refused JSON input due to high complexity: exceeded maximum number of strings'),
    },
    { name: 'a thousand strings pass', ask: ['POST', 'sys/capabilities-self', strings(999)], status: 200 },
    {
      name: 'a policy without text',
      ask: ['POST', 'sys/policies/acl/u2', { policy: '', name: 'q' }],
      status: 400,
      body: errors("'policy' parameter not supplied or empty"),
    },
  ])('$name', play)

  test('health needs no token, and responds to HEAD without a body', async () => {
    const got = await server.anonymous.read('sys/health')
    const head = await server.anonymous.call('HEAD', 'sys/health')

    expect(got).toMatchObject({ status: 200, body: { initialized: true, sealed: false, standby: false } })
    expect(got.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
    expect(head).toMatchObject({ status: 200, text: '' })
  })

  test.each([
    { method: 'LIST', query: '' },
    { method: 'GET', query: '?list=true' },
    { method: 'GET', query: '?list=T' },
    { method: 'GET', query: '?a=b&l%69st=%74rue' },
  ])('$method $query lists the policies, root last', async ({ method, query }) => {
    const { status, body } = await server.root.call(method, `sys/policies/acl${query}`)

    expect(status).toBe(200)
    expect(body.data?.keys).toEqual(expect.arrayContaining(['default']))
    expect(JSON.stringify(body.data?.keys)).toMatch(/,"root"\]$/)
  })

  test('a response to HEAD has no body', async () => {
    expect(await server.root.call('HEAD', 'auth/jwt/config')).toMatchObject({ status: 405, text: '' })
    expect(await server.root.call('HEAD', 'nope')).toMatchObject({ status: 404, text: '' })
  })

  test('a refusal of HEAD has no body', async () => {
    expect(await client('U').call('HEAD', 'auth/jwt/config')).toMatchObject({ status: 403, text: '' })
  })

  test('an unprintable character is 400 without a body', async () => {
    expect(await server.root.read('cloud/%00')).toMatchObject({ status: 400, text: '' })
  })

  test('a path with an empty segment is redirected with its query', async () => {
    const answer = await server.root.read('/v1//sys/mounts?a=b')

    expect(answer).toMatchObject({ status: 307, headers: { location: '/v1/sys/mounts?a=b' } })
  })

  test('a warning names the parameters that the path does not declare', async () => {
    const { status, body } = await server.root.write('sys/capabilities-self', { paths: 'a', zz: 1, yy: 2 })

    expect(status).toBe(200)
    expect(body['warnings']).toEqual(['Endpoint ignored these unrecognized parameters: [yy zz]'])
    expect(body['data']).toEqual({ a: ['root'], capabilities: ['root'] })
    expect(body['a']).toEqual(['root'])
  })

  test('a policy name with capitals is stored in lower case, with a warning', async () => {
    const answer = await server.root.write('sys/policy/Abc', {
      policy: 'path "a" { capabilities = ["read"] }',
    })

    expect(answer).toMatchObject({ status: 200, body: { warnings: ['policy name was converted to abc'] } })
  })

  test('an envelope has all its keys', async () => {
    const { body } = await server.root.read(self)

    expect(Object.keys(body).sort()).toEqual(
      [
        'auth',
        'data',
        'lease_duration',
        'lease_id',
        'mount_type',
        'renewable',
        'request_id',
        'warnings',
        'wrap_info',
      ].sort(),
    )
    expect(body).toMatchObject({
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      wrap_info: null,
      warnings: null,
      auth: null,
      mount_type: 'token',
    })
    expect(String(body['request_id'])).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })

  test('each response has its own request id, whatever the client sends', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(() =>
        server.root
          .read(self, { headers: { 'X-Request-Id': 'mine', 'Request-Id': 'mine' } })
          .then(({ body }) => body['request_id']),
      ),
    )

    expect(new Set(ids).size).toBe(3)
    expect(ids).not.toContain('mine')
  })

  test('sys/mounts repeats its data at the top', async () => {
    const { body } = await server.root.read('sys/mounts')

    expect(body['data']?.['sys/']?.['type']).toBe('system')
    expect(body['sys/']).toEqual(body['data']?.['sys/'])
  })

  test('sys/policies/acl does not repeat its data at the top', async () => {
    const { status, body } = await server.root.read('sys/policies/acl/default')

    expect(status).toBe(200)
    expect(body).not.toHaveProperty('policy')
  })
})

describe('coercion', () => {
  const write = 'auth/jwt/role/r'
  test.each<Case>([
    {
      name: 'a word that is not a bool',
      ask: ['POST', 'auth/jwt/config', { namespace_in_state: 'yes', jwt_validation_pubkeys: 'x' }],
      status: 400,
      body: errors(
        `Field validation failed: error converting input for field "namespace_in_state": '' cannot parse value as 'bool': strconv.ParseBool: invalid syntax`,
      ),
    },
    {
      name: 'a bool of 2',
      ask: ['POST', write, { verbose_oidc_logging: 2 }],
      status: 400,
      text: /^error converting input for field "verbose_oidc_logging": .*ParseBool/,
    },
    {
      name: 'who may not write there sees 403',
      ask: ['POST', write, { verbose_oidc_logging: 2 }],
      as: 'U',
      status: 403,
      body: notAllowed,
    },
    {
      name: 'who may sees 400',
      ask: ['POST', write, { verbose_oidc_logging: 2 }],
      as: 'W',
      status: 400,
      text: /^error converting input for field/,
    },
    {
      name: 'weeks',
      ask: ['POST', write, { max_age: '1w' }],
      status: 400,
      text: /time: unknown unit "w" in duration "1w"$/,
    },
    {
      name: 'half a day',
      ask: ['POST', write, { max_age: '1.5d' }],
      status: 400,
      text: /strconv\.ParseInt: parsing "1\.5": invalid syntax$/,
    },
    {
      name: 'half a second as a number',
      ask: ['POST', write, { max_age: 1.5 }],
      status: 400,
      text: /time: missing unit in duration "1\.5"$/,
    },
    {
      name: 'a negative duration',
      ask: ['POST', write, { max_age: -1 }],
      status: 400,
      text: /cannot provide negative value '-1'$/,
    },
    {
      name: 'true as a duration',
      ask: ['POST', write, { clock_skew_leeway: true }],
      status: 400,
      text: /could not parse duration from input$/,
    },
    {
      name: '1.0 as an int',
      ask: ['POST', write],
      with: { raw: '{"token_num_uses":1.0}' },
      status: 400,
      text: /'' cannot parse value as 'int': strconv\.ParseInt: invalid syntax$/,
    },
    {
      name: 'a list in a list',
      ask: ['POST', write, { bound_audiences: [['a']] }],
      status: 400,
      text: /'\[0\]' expected type 'string', got unconvertible type '\[\]interface \{\}'/,
    },
    {
      name: 'a text as a map',
      ask: ['POST', write, { bound_claims: 'x' }],
      status: 400,
      text: /'' expected type 'map\[string\]interface \{\}', got unconvertible type 'string'/,
    },
    {
      name: 'a pair without =',
      ask: ['POST', write, { claim_mappings: 'a' }],
      status: 400,
      text: /invalid key pair "a"$/,
    },
    {
      name: 'a map as a text',
      ask: ['POST', write, { user_claim: {} }],
      status: 400,
      text: /got unconvertible type 'map\[string\]interface \{\}'/,
    },
    {
      name: 'a wrap TTL that is none',
      ask: ['GET', self],
      with: { headers: { 'X-Vault-Wrap-TTL': 'abc' } },
      status: 400,
      body: errors('error parsing X-Vault-Wrap-TTL header: time: invalid duration "abc"'),
    },
    {
      name: 'a negative wrap TTL',
      ask: ['GET', self],
      with: { headers: { 'X-Vault-Wrap-TTL': '-5' } },
      status: 400,
      body: errors('error parsing X-Vault-Wrap-TTL header: requested wrap ttl cannot be negative'),
    },
  ])('$name', play)

  test.each([
    { field: 'max_age', sent: '"1.5h"', stored: 5400 },
    { field: 'max_age', sent: '"7d"', stored: 604_800 },
    { field: 'max_age', sent: '90', stored: 90 },
    { field: 'max_age', sent: '"90"', stored: 90 },
    { field: 'clock_skew_leeway', sent: '-1', stored: -1 },
    { field: 'token_num_uses', sent: '"0x10"', stored: 16 },
    { field: 'token_policies', sent: '"a, b"', stored: ['a', 'b'] },
    { field: 'bound_audiences', sent: '"a,,b"', stored: ['a', '', 'b'] },
    { field: 'bound_audiences', sent: '["a,b"]', stored: ['a,b'] },
    { field: 'claim_mappings', sent: '["a=b","c=d=e"]', stored: { a: 'b', c: 'd=e' } },
    { field: 'user_claim', sent: '1e3', stored: '1e3' },
  ])('$field $sent is stored as $stored', async ({ field, sent, stored }) => {
    const { [field]: _, ...rest } = role as Record<string, unknown>
    const raw = `${JSON.stringify(rest).slice(0, -1)},"${field}":${sent}}`

    expect(await server.root.write(write, undefined, { raw })).toMatchObject({ status: 204, text: '' })
    expect((await server.root.read(write)).body['data']?.[field]).toEqual(stored)
  })

  test('an empty list counts as an empty map', async () => {
    expect((await server.root.write(write, { ...role, bound_claims: [] })).status).toBe(204)
  })

  test('null counts as the zero value, not as a coercion error', async () => {
    const { body } = await server.root.write('auth/jwt/role/nulled', { ...role, role_type: null })

    expect(errorText(body)).not.toContain('error converting input')
  })

  test('the name in the path takes precedence', async () => {
    expect(await server.root.write('auth/jwt/role/mine', { name: 'other', ...role })).toMatchObject({
      status: 204,
    })

    expect((await server.root.read('auth/jwt/role/mine')).status).toBe(200)
    expect((await server.root.read('auth/jwt/role/other')).status).toBe(404)
  })
})
