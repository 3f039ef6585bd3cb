import { describe, expect, test } from 'vitest'
import { type Answer, head, openWire, type Wire } from '../http/wire.ts'
import { startTestServer } from '../support/start-server.ts'

const manners = [
  'User-Agent: python-requests/2.34.2',
  'Accept-Encoding: gzip, deflate',
  'Accept: */*',
  'Connection: keep-alive',
  'X-Vault-Request: true',
]

/**
 * Sends as hvac does, byte by byte: verbs of its own, `null` for what its caller left out, everything on one
 * connection.
 */
class Hvac implements Disposable {
  readonly #wire: Wire
  readonly #headers: readonly string[]

  constructor(wire: Wire, headers: readonly string[]) {
    this.#wire = wire
    this.#headers = headers
  }

  async ask(verb: string, path: string, body?: string): Promise<Answer | undefined> {
    const type = body === undefined ? [] : ['Content-Type: application/json']
    this.#wire.send(head(verb, path, [...manners, ...this.#headers, ...type], body))
    return await this.#wire.answer()
  }

  [Symbol.dispose](): void {
    this.#wire.close()
  }
}

async function anHvac(url: string, headers: readonly string[] = []): Promise<Hvac> {
  return new Hvac(await openWire(url), ['X-Vault-Token: root', ...headers])
}

const parsed = (answer: Answer | undefined): unknown => JSON.parse(answer?.body ?? '')

test('hvac mounts a key-value store', async () => {
  await using server = await startTestServer()
  using hvac = await anHvac(server.url)

  const answer = await hvac.ask(
    'POST',
    '/v1/sys/mounts/other',
    '{"type": "kv", "description": null, "config": null, "options": {"version": 2}, "plugin_name": null, "local": false, "seal_wrap": false}',
  )

  expect(answer?.status).toBe(204)
  expect((await server.root.read('sys/mounts')).body['data']?.['other/']).toMatchObject({
    type: 'kv',
    options: { version: '2' },
  })
})

test('hvac logs in with AppRole and with a password, and writes, patches and rolls back a secret', async () => {
  await using server = await startTestServer()
  using hvac = await anHvac(server.url)
  const data = async (verb: string, path: string, body?: string) => {
    const answer = await hvac.ask(verb, `/v1/${path}`, body)
    const { data: got, auth } = parsed(answer) as Record<string, Record<string, unknown> | null>
    return got ?? auth ?? {}
  }
  await hvac.ask('POST', '/v1/sys/auth/approle', '{"type": "approle", "config": null, "local": false}')
  await hvac.ask('POST', '/v1/sys/auth/userpass', '{"type": "userpass", "config": null, "local": false}')
  await hvac.ask('POST', '/v1/auth/approle/role/shop', '{"token_policies": "shop", "token_ttl": "10m"}')
  await hvac.ask('POST', '/v1/auth/userpass/users/ada', '{"password": "correct horse", "policies": "shop"}')

  const { role_id } = await data('GET', 'auth/approle/role/shop/role-id')
  const { secret_id } = await data('POST', 'auth/approle/role/shop/secret-id', '{"metadata": "{}"}')
  const machine = await data('POST', 'auth/approle/login', JSON.stringify({ role_id, secret_id }))
  const person = await data('POST', 'auth/userpass/login/ada', '{"password": "correct horse"}')
  await data('POST', 'secret/data/db', '{"options": {}, "data": {"password": "p1"}}')
  // its patch reads, merges and writes with check-and-set
  const { metadata } = await data('GET', 'secret/data/db')
  const { version } = metadata as { version: number }
  await data(
    'POST',
    'secret/data/db',
    `{"options": {"cas": ${version}}, "data": {"password": "p1", "user": "ada"}}`,
  )
  const first = await data('GET', 'secret/data/db?version=1')
  const rolledBack = await data(
    'POST',
    'secret/data/db',
    JSON.stringify({ options: { cas: 2 }, data: first['data'] }),
  )

  expect([machine['policies'], machine['lease_duration']]).toEqual([['default', 'shop'], 600])
  expect(person['policies']).toEqual(['default', 'shop'])
  expect(rolledBack).toMatchObject({ version: 3, destroyed: false, deletion_time: '' })
  expect((await data('GET', 'secret/data/db'))['data']).toEqual({ password: 'p1' })
  expect((await hvac.ask('DELETE', '/v1/secret/data/db'))?.status).toBe(204)
  const deleted = await hvac.ask('GET', '/v1/secret/data/db')
  expect([deleted?.status, parsed(deleted)]).toEqual([
    404,
    expect.objectContaining({ data: { data: null, metadata: expect.objectContaining({ version: 3 }) } }),
  ])
})

/**
 * Calls of hvac in sequence, byte by byte, with the expected responses: an omitted argument may be `null`,
 * and the body may repeat the path.
 */
const tour: readonly (readonly [verb: string, path: string, body: string | undefined, status: number])[] = [
  [
    'POST',
    'sys/mounts/azure',
    '{"type": "azure", "description": null, "config": null, "options": null, "plugin_name": null, "local": false, "seal_wrap": false}',
    204,
  ],
  ['GET', 'sys/mounts/azure/tune', undefined, 200],
  [
    'POST',
    'sys/auth/team/ci',
    '{"type": "jwt", "description": "ci", "config": {"default_lease_ttl": 60, "max_lease_ttl": null}, "local": false}',
    204,
  ],
  [
    'POST',
    'sys/auth/team/ci/tune',
    '{"audit_non_hmac_request_keys": "a,b", "passthrough_request_headers": ""}',
    204,
  ],
  ['GET', 'sys/auth', undefined, 200],
  [
    'PUT',
    'sys/policy/web',
    '{"policy": "{\\n    \\"path\\": {\\n        \\"a/*\\": {\\n            \\"capabilities\\": [\\n                \\"read\\"\\n            ]\\n        }\\n    }\\n}"}',
    204,
  ],
  ['LIST', 'sys/policies/acl', undefined, 200],
  ['POST', 'sys/namespaces/inner', undefined, 200],
  ['LIST', 'sys/namespaces', undefined, 200],
  ['POST', 'sys/capabilities-self', '{"paths": ["sys/mounts"]}', 200],
  ['POST', 'sys/capabilities-self', '{"paths": null}', 400],
  [
    'POST',
    'auth/token/create',
    '{"policies": "web", "meta": {"n": 1}, "no_parent": false, "renewable": true, "display_name": "token", "num_uses": 0}',
    200,
  ],
  ['POST', 'auth/token/renew', '{"increment": null, "token": "none"}', 400],
  ['POST', 'auth/token/lookup', '{"token": null}', 403],
  ['POST', 'auth/token/tidy', undefined, 202],
  ['LIST', 'auth/token/roles', undefined, 404],
  ['POST', 'identity/entity', '{"name": "Ann", "metadata": {}}', 200],
  ['POST', 'identity/entity', '{"name": "ann", "disabled": false}', 204],
  ['GET', 'identity/entity/name?list=true', undefined, 200],
  [
    'POST',
    'identity/group',
    '{"name": "web", "type": "internal", "member_entity_ids": null, "member_group_ids": null}',
    200,
  ],
  ['POST', 'identity/lookup/entity', '{"name": "nobody"}', 204],
  ['POST', 'identity/lookup/entity', '{}', 400],
  [
    'POST',
    'identity/oidc/key/k',
    '{"name": "k", "rotation_period": "24h", "verification_ttl": "24h", "allowed_client_ids": null, "algorithm": "RS256"}',
    204,
  ],
  ['POST', 'identity/oidc/key/k', '{"verification_ttl": 90000}', 204],
  [
    'POST',
    'auth/team/ci/role/ci',
    '{"name": "ci", "role_type": "jwt", "user_claim": "sub", "bound_subject": "s", "bound_claims_type": "string"}',
    204,
  ],
  ['GET', 'auth/team/ci/role?list=True', undefined, 200],
  ['POST', 'auth/team/ci/login', '{"role": "ci", "jwt": null}', 400],
  [
    'GET',
    'auth/team/ci/oidc/callback?state=s&nonce=n&code=c',
    '{"state": "s", "nonce": "n", "code": "c"}',
    400,
  ],
  ['PUT', 'sys/leases/lookup', '{"lease_id": null}', 400],
  ['PUT', 'sys/leases/renew', '{"lease_id": "none", "increment": null}', 400],
  ['PUT', 'sys/leases/revoke-prefix/azure/creds', '{"prefix": "azure/creds"}', 204],
  ['LIST', 'sys/leases/lookup/azure', undefined, 404],
  ['POST', 'azure/roles/web', '{"azure_roles": "[]"}', 400],
  ['LIST', 'azure/roles', undefined, 404],
  ['POST', 'sys/remount', '{"from": "azure", "to": "elsewhere"}', 200],
  ['DELETE', 'sys/auth/team/ci', undefined, 204],
  ['GET', 'secret/x', undefined, 404],
]

describe.each([
  { where: 'in the root namespace', headers: [] },
  { where: 'in a namespace', headers: ['X-Vault-Namespace: team'] },
])('$where', ({ headers }) => {
  test('hvac makes its calls on one connection and recognises every JSON response', async () => {
    await using server = await startTestServer()
    await server.root.write('sys/namespaces/team')
    using hvac = await anHvac(server.url, headers)

    for (const [verb, path, body, status] of tour) {
      const answer = await hvac.ask(verb, `/v1/${path}`, body)

      expect([verb, path, answer?.status]).toEqual([verb, path, status])
      // it compares for equality
      expect([path, answer?.headers['content-type']]).toEqual([path, 'application/json'])
      if (status === 204) expect([path, answer?.body]).toEqual([path, ''])
      else expect(parsed(answer)).toEqual(expect.any(Object))
    }
  })
})

test('hvac works in a namespace with non-ASCII letters, and every response names it as it was sent', async () => {
  await using server = await startTestServer()
  await server.root.write('sys/namespaces/%C3%BC')
  // the wire carries UTF-8, and is read and written byte by byte
  const sent = Buffer.from('ü/').toString('latin1')
  using hvac = await anHvac(server.url, [`X-Vault-Namespace: ${sent}`])

  const answers = {
    'a read': await hvac.ask('GET', '/v1/auth/token/lookup-self'),
    'a read with a body': await hvac.ask('GET', '/v1/auth/token/lookup-self', '{"token": "x"}'),
    'a list': await hvac.ask('LIST', '/v1/sys/policies/acl'),
    'a write': await hvac.ask(
      'POST',
      '/v1/auth/token/create',
      '{"policies": ["default"], "no_parent": false, "display_name": "token"}',
    ),
    'a write of nothing': await hvac.ask('PUT', '/v1/sys/policy/web', '{"policy": "path \\"a\\" {}"}'),
    'a deletion': await hvac.ask('DELETE', '/v1/sys/policy/web'),
    'the state of the node': await hvac.ask('GET', '/v1/sys/seal-status'),
    messages: await hvac.ask('GET', '/v1/sys/internal/ui/unauthenticated-messages'),
    'what is not there': await hvac.ask('GET', '/v1/secret/x'),
    'what is refused': await hvac.ask('POST', '/v1/sys/wrapping/wrap', '{'),
  }

  const told = Object.entries(answers).map(([what, answer]) => [
    what,
    answer?.status,
    answer?.headers['x-vault-namespace'],
  ])
  expect(told).toEqual([
    ['a read', 200, sent],
    ['a read with a body', 200, sent],
    ['a list', 200, sent],
    ['a write', 200, sent],
    ['a write of nothing', 204, sent],
    ['a deletion', 204, sent],
    ['the state of the node', 200, sent],
    ['messages', 200, sent],
    ['what is not there', 404, sent],
    ['what is refused', 400, sent],
  ])
  expect(parsed(answers['a list'])).toMatchObject({ data: { keys: ['default'] } })
})

test.each(['X-Vault-Token: ', 'Authorization: Bearer '])(
  'a chosen token id with non-ASCII letters works through %s',
  async (name) => {
    await using server = await startTestServer()
    // the last letter ends with a byte that is a blank on its own
    await server.root.write('auth/token/create', {
      id: 'schlüssel-voilà',
      policies: ['default'],
      display_name: 'chosen',
    })
    const sent = Buffer.from('schlüssel-voilà').toString('latin1')
    using hvac = new Hvac(await openWire(server.url), [`${name}${sent}`])

    const self = await hvac.ask('GET', '/v1/auth/token/lookup-self')
    const renewed = await hvac.ask('POST', '/v1/auth/token/renew-self', '{}')

    expect([self?.status, renewed?.status]).toEqual([200, 200])
    expect(parsed(self)).toMatchObject({ data: { display_name: 'token-chosen', policies: ['default'] } })
  },
)
