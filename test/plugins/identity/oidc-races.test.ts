import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aPerson, type Person, saidBy } from './person.ts'

const oidc = 'identity/oidc'

let server: TestServer
let bob: Person
beforeAll(async () => {
  server = await startTestServer()
  bob = await aPerson(server)
})
afterAll(() => server[Symbol.asyncDispose]())

test('tokens issued while keys rotate and change their algorithm are all valid', async () => {
  const { root, anonymous } = server
  await root.write(`${oidc}/key/busy`, { algorithm: 'ES256', allowed_client_ids: '*' })
  await root.write(`${oidc}/role/busy`, { key: 'busy', client_id: 'app' })
  const tokens: string[] = []
  const rounds = Array.from({ length: 15 })

  const check = async (): Promise<string[]> => {
    const problems: string[] = []
    for (const _ of rounds) {
      const { body } = await bob.client.read(`${oidc}/token/busy`)
      const token = String(body.data?.token)
      tokens.push(token)
      const keys = (await anonymous.read(`${oidc}/.well-known/keys`)).body as unknown as JSONWebKeySet
      await jwtVerify(token, createLocalJWKSet(keys), { audience: 'app' }).catch((error: unknown) =>
        problems.push(String(error)),
      )
      const { text } = await root.write(`${oidc}/introspect`, { token, client_id: 'app' })
      if (text !== '{"active":true}') problems.push(text)
    }
    return problems
  }
  const rotate = async (): Promise<string[]> => {
    for (const [round] of rounds.entries()) {
      await root.write(`${oidc}/key/busy/rotate`, {})
      if (round % 5 === 4)
        await root.write(`${oidc}/key/busy`, { algorithm: round % 2 === 0 ? 'EdDSA' : 'ES384' })
    }
    return []
  }
  const problems = (await Promise.all([check(), check(), check(), rotate(), rotate()])).flat()

  expect(problems).toEqual([])
  expect(new Set(tokens.map((token) => saidBy(token).header['kid'])).size).toBeGreaterThan(3)
  for (const token of tokens)
    expect((await root.write(`${oidc}/introspect`, { token })).text).toBe('{"active":true}')
})

test('a withdrawn key verifies nothing, even right after it verified a token', async () => {
  const { root } = server
  await root.write(`${oidc}/key/brief`, { algorithm: 'ES256', allowed_client_ids: '*' })
  await root.write(`${oidc}/role/brief`, { key: 'brief' })
  const token = String((await bob.client.read(`${oidc}/token/brief`)).body.data?.token)
  const before = (await root.write(`${oidc}/introspect`, { token })).text

  await root.write(`${oidc}/key/brief/rotate`, { verification_ttl: 0 })

  expect(before).toBe('{"active":true}')
  expect((await root.write(`${oidc}/introspect`, { token })).body.error).toBe(
    'unable to validate the token signature',
  )
})

test('fields that a caller sends do not appear in a token', async () => {
  const { root } = server
  await root.write(`${oidc}/role/plain`, { key: 'default', client_id: 'app' })

  const { body } = await bob.client.read(`${oidc}/token/plain?nonce=n&aud=other&sub=x&iss=y`)

  const { claims } = saidBy(String(body.data?.token))
  expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'namespace', 'sub'])
  expect(claims).toMatchObject({ aud: 'app', sub: bob.entityId })
})

test.each([
  ['an escaped name', '{"\\u0069ss": "https://evil"}'],
  ['a name told twice', '{"a": 1, "sub": "x", "a": 2}'],
  ['base64', Buffer.from('{"aud": "x"}').toString('base64')],
  [
    'base64 in lines',
    Buffer.from('{"nonce": {{identity.entity.name}}, "x": 1234567890}')
      .toString('base64')
      .replace(/.{16}/g, '$&\r\n'),
  ],
])('no template can set a reserved claim: %s', async (_, template) => {
  const { status, body } = await server.root.write(`${oidc}/role/reserved`, { key: 'default', template })

  expect([status, body.errors?.[0]]).toEqual([
    400,
    expect.stringMatching(/^top level key "(iss|sub|aud|nonce)" not allowed\. /),
  ])
})

test('metadata used as the whole template cannot set reserved claims, whatever its keys', async () => {
  const { root } = server
  const evil = Object.fromEntries(
    ['iat', 'aud', 'exp', 'iss', 'sub', 'namespace', 'nonce', 'auth_time', 'at_hash', 'c_hash'].map(
      (name) => [name, 'evil'],
    ),
  )
  await root.write(`identity/entity/id/${bob.entityId}`, {
    metadata: { ...evil, team: 'blue', ...JSON.parse('{"__proto__": "p"}') },
  })
  await root.write(`${oidc}/role/all`, {
    key: 'default',
    client_id: 'app',
    template: '{{identity.entity.metadata}}',
  })

  const { claims } = saidBy(String((await bob.client.read(`${oidc}/token/all`)).body.data?.token))

  expect(JSON.stringify(claims)).not.toContain('evil')
  expect(claims).toMatchObject({ team: 'blue', sub: bob.entityId, aud: 'app' })
  expect(Object.entries(claims)).toContainEqual(['__proto__', 'p'])
})
