import { expect, test } from 'vitest'
import { invalidToken } from '../../support/error-bodies.ts'
import { copyAsIfKilled, startInFolder } from '../../support/folder-server.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aSigner } from '../jwt-auth/signer.ts'
import { aPerson } from './person.ts'

const isAccepted = async (server: Pick<TestServer, 'as'>, token: string) =>
  (await server.as(token).read('auth/token/lookup-self')).status === 200

test('all tokens of a person and their descendants are refused at once, and a new login works', async () => {
  await using server = await startTestServer()
  const bob = await aPerson(server)
  const again = await aPerson(server)
  const other = await aPerson(server, { sub: 'carol' })
  await server.root.write('sys/policies/acl/oidc', {
    policy: 'path "auth/token/create" { capabilities = ["update"] }',
  })
  const child = String(
    (await bob.client.write('auth/token/create', { policies: ['default'] })).body.auth?.client_token,
  )
  const batch = String(
    (await bob.client.write('auth/token/create', { policies: ['default'], type: 'batch' })).body.auth
      ?.client_token,
  )
  const tokens = [bob.token, again.token, child, batch]
  for (const token of tokens) expect(await isAccepted(server, token)).toBe(true)

  const answer = await server.root.write(`identity/entity/id/${bob.entityId}/revoke-tokens`)

  expect([answer.status, answer.text]).toEqual([204, ''])
  for (const token of tokens) {
    expect(await server.as(token).read('auth/token/lookup-self')).toMatchObject({
      status: 403,
      body: invalidToken,
    })
  }
  expect(await isAccepted(server, other.token)).toBe(true)
  expect(await isAccepted(server, (await aPerson(server)).token)).toBe(true)
})

test("it requires sudo, an existing entity, and that entity's namespace", async () => {
  await using server = await startTestServer()
  const { root } = server
  const { entityId, token } = await aPerson(server)
  const path = `identity/entity/id/${entityId}/revoke-tokens`
  await root.write('sys/policies/acl/p', {
    policy: 'path "identity/*" { capabilities = ["create", "update"] }',
  })
  const plain = server.as(
    String((await root.write('auth/token/create', { policies: ['p'] })).body.auth?.client_token),
  )
  await root.write('sys/namespaces/a')

  expect(await plain.write(path)).toMatchObject({
    status: 403,
    body: { errors: ['1 error occurred:\n\t* permission denied\n\n'] },
  })
  expect(await root.write('identity/entity/id/nobody/revoke-tokens')).toMatchObject({
    status: 404,
    body: { errors: [] },
  })
  expect(await root.write(`a/${path}`)).toMatchObject({ status: 404, body: { errors: [] } })
  expect((await root.read(path)).status).toBe(405)
  expect(await isAccepted(server, token)).toBe(true)
})

test('tokens of an entity that was merged into the person end too', async () => {
  await using server = await startTestServer()
  const bob = await aPerson(server)
  const made = await server.root.write('identity/entity', { name: 'robert' })
  const merged = await server.root.write('identity/entity/merge', {
    from_entity_ids: [bob.entityId],
    to_entity_id: made.body.data?.id,
  })
  expect(merged.status).toBe(204)
  expect(await isAccepted(server, bob.token)).toBe(true)

  expect((await server.root.write(`identity/entity/id/${made.body.data?.id}/revoke-tokens`)).status).toBe(204)

  expect(await isAccepted(server, bob.token)).toBe(false)
})

test('no login that was answered before the response survives, however many run concurrently', async () => {
  await using server = await startTestServer()
  const bob = await aPerson(server)
  const signer = aSigner('ES256')
  await server.root.write('auth/people/config', { jwt_validation_pubkeys: [signer.pem] })
  const jwt = signer.sign({
    sub: 'bob',
    aud: 'gate',
    exp: 4_000_000_000,
    iat: 1_000_000_000,
    nbf: 1_000_000_000,
    team: 'blue',
  })
  const login = async () =>
    String((await server.anonymous.write('auth/people/login', { role: 'r', jwt })).body.auth?.client_token)
  const before: string[] = []
  let isAnswered = false
  const workers = Array.from({ length: 6 }, async () => {
    while (!isAnswered) {
      const token = await login()
      if (!isAnswered) before.push(token)
    }
  })
  while (before.length < 20) before.push(await login())

  // once the promise resolves, the response is on its way: what arrived by then was answered before
  const answer = await server.root.write(`identity/entity/id/${bob.entityId}/revoke-tokens`).finally(() => {
    isAnswered = true
  })
  await Promise.all(workers)

  expect(answer.status).toBe(204)
  for (const token of before) expect(await isAccepted(server, token)).toBe(false)
  expect(await isAccepted(server, await login())).toBe(true)
})

test('revoked tokens stay refused after a kill', async () => {
  await using folder = await temporaryFolder()
  await using left = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)
  const bob = await aPerson({ root, anonymous: server.anonymous, as: (id) => server.as(id) })
  expect((await root.write(`identity/entity/id/${bob.entityId}/revoke-tokens`)).status).toBe(204)

  copyAsIfKilled(folder.path, left.path)
  await using next = await startInFolder({ folder: left.path })

  expect(await isAccepted(next, bob.token)).toBe(false)
})

test('a rule that also covers the entity revokes nothing where a narrower rule closes the entity', async () => {
  await using server = await startTestServer()
  const bob = await aPerson(server)
  const capabilities = 'capabilities = ["update", "read", "sudo"]'
  await server.root.write('sys/policies/acl/operator', {
    policy: `path "identity/*" { ${capabilities} }
      path "identity/entity/id/${bob.entityId}" { capabilities = ["read"] }
      path "sys/*" { ${capabilities} }
      path "sys/rotate" { capabilities = ["deny"] }
      path "sys/storage/raft/snapshot" { capabilities = ["deny"] }`,
  })
  const made = await server.root.write('auth/token/create', { policies: ['operator'] })
  const operator = server.as(String(made.body.auth?.client_token))

  const statuses = await Promise.all([
    operator.write(`identity/entity/id/${bob.entityId}/revoke-tokens`),
    operator.write('sys/rotate/keyring'),
    operator.write('sys/rotate/root'),
    operator.read('sys/storage/snapshot'),
  ])

  expect(statuses.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  expect(await isAccepted(server, bob.token)).toBe(true)
})
