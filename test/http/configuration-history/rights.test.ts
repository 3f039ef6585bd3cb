import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Client, inside, type Json } from '../../support/client.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { aRole, callerWith } from './callers.ts'

let server: TestServer
let root: Client
beforeAll(async () => {
  server = await startTestServer()
  root = server.root
})
afterAll(() => server[Symbol.asyncDispose]())

let count = 0
const clientWith = (policy: string, namespace = ''): Promise<Client> =>
  callerWith(root, policy, { namespace })

/** A role with two versions. */
async function twiceWritten(path = `auth/jwt/role/r${++count}`): Promise<string> {
  await root.write(path, aRole({ token_policies: ['one'] }))
  await root.write(path, aRole({ token_policies: ['two'] }))
  return path
}

const pathsOf = async (client: Client, query: string, namespace = ''): Promise<string[]> => {
  const answer = await client.read(`sys/history${query}`, inside(namespace))
  expect([answer.status, answer.text]).toEqual([200, expect.anything()])
  const { changes, deleted } = answer.body.data ?? {}
  return ((changes ?? deleted) as unknown as Json[]).map(({ path }) => String(path))
}

test('nobody without a token sees a history or takes a change back', async () => {
  const path = await twiceWritten()

  for (const query of ['history=true', 'version=1'])
    expect((await server.anonymous.read(`${path}?${query}`)).status).toBe(403)
  expect((await server.anonymous.write(`${path}?revert=1`)).status).toBe(403)
  expect((await server.anonymous.read('sys/history')).status).toBe(403)
  expect((await server.anonymous.read('sys/history/deleted')).status).toBe(403)
})

test('a history needs read of its path, a revert the rights of a write', async () => {
  const path = await twiceWritten()
  const reader = await clientWith(`path "${path}" { capabilities = ["read"] }`)
  const writer = await clientWith(`path "${path}" { capabilities = ["update"] }`)

  expect((await reader.read(`${path}?history=true`)).status).toBe(200)
  expect((await reader.write(`${path}?revert=1`)).status).toBe(403)
  expect((await reader.write(`${path}?revert=99`)).status).toBe(403)
  expect((await writer.read(`${path}?history=true`)).status).toBe(403)
  expect((await writer.read(`${path}?version=1`)).status).toBe(403)
  expect((await writer.write(`${path}?revert=99`)).status).toBe(404)
  expect((await writer.write(`${path}?revert=1`)).status).toBe(204)
})

test('bringing back what is deleted needs create', async () => {
  const path = await twiceWritten()
  await root.delete(path)
  const updater = await clientWith(`path "${path}" { capabilities = ["update"] }`)
  const creator = await clientWith(`path "${path}" { capabilities = ["create"] }`)

  expect((await updater.write(`${path}?revert=1`)).status).toBe(403)
  expect((await creator.write(`${path}?revert=1`)).status).toBe(204)
})

test('a revert writes only what the parameter rules of the caller allow', async () => {
  const path = await twiceWritten()
  const limited = await clientWith(
    `path "${path}" { capabilities = ["update", "read"]
       denied_parameters = { token_policies = ["one"] } }`,
  )

  expect((await limited.write(`${path}?revert=1`)).status).toBe(403)
  expect((await limited.write(`${path}?revert=2`)).status).toBe(204)
  expect((await root.read(path)).body.data).toMatchObject({ token_policies: ['two'] })
})

test('another spelling of a role is the same object, and a rule that denies one denies the other', async () => {
  const path = await twiceWritten()
  const spelled = path.toUpperCase().replace('AUTH/JWT/ROLE', 'auth/jwt/role')
  const kept = await clientWith(`path "auth/jwt/role/*" { capabilities = ["read"] }
    path "${path}" { capabilities = ["deny"] }`)

  expect((await root.read(`${spelled}?history=true`)).status).toBe(200)
  expect((await kept.read(`${spelled}?history=true`)).status).toBe(403)
})

test('the log shows only the objects whose path the caller may read', async () => {
  const mine = await twiceWritten()
  const theirs = await twiceWritten()
  const ada = await clientWith(`path "sys/history" { capabilities = ["read"] }
    path "sys/history/deleted" { capabilities = ["read"] }
    path "${mine}" { capabilities = ["read"] }`)
  const nobody = await clientWith(`path "sys/history" { capabilities = ["read"] }`)
  const without = await clientWith(`path "${mine}" { capabilities = ["read"] }`)

  expect(await pathsOf(ada, '?path=auth/jwt')).toEqual([mine, mine])
  expect(await pathsOf(root, '?path=auth/jwt&limit=4')).toEqual([theirs, theirs, mine, mine])
  expect(await pathsOf(nobody, '')).toEqual([])
  expect((await without.read('sys/history')).status).toBe(403)

  for (const path of [mine, theirs]) await root.delete(path)
  expect(await pathsOf(ada, '/deleted')).toEqual([mine])
  expect(await pathsOf(root, `/deleted?prefix=${theirs}`)).toEqual([theirs])
})

test('of what needs sudo, the log shows nothing without it', async () => {
  await root.write('sys/config/cors', { allowed_origins: ['https://a.example'] })
  await root.delete('sys/config/cors')
  await root.write('sys/auth/later', { type: 'jwt' })
  // this way needs no sudo
  await root.write('sys/mounts/auth/later/tune', { description: 'tuned' })
  const rules = (sudo: string) => `path "sys/history" { capabilities = ["read"] }
    path "sys/history/deleted" { capabilities = ["read"] }
    path "sys/config/cors" { capabilities = ["read"${sudo}] }
    path "sys/auth/*" { capabilities = ["read"${sudo}] }`
  const plain = await clientWith(rules(''))
  const mighty = await clientWith(rules(', "sudo"'))

  expect(await pathsOf(plain, '')).toEqual([])
  expect(await pathsOf(plain, '/deleted')).toEqual([])
  expect(await pathsOf(mighty, '?path=sys/auth/later')).toEqual([
    'sys/auth/later/tune',
    'sys/auth/later/tune',
  ])
  expect(await pathsOf(mighty, '/deleted')).toEqual(['sys/config/cors'])
})

test('each namespace has a log of its own, which goes with it', async () => {
  for (const name of ['one', 'one/two'])
    await root.write(`sys/namespaces/${name.split('/').at(-1)}`, {}, inside(name.includes('/') ? 'one' : ''))
  const ns = inside('one/two')
  await root.write('auth/token/roles/a', {}, ns)
  await root.write('auth/token/roles/a', { orphan: true }, ns)
  await root.delete('auth/token/roles/a', ns)

  expect(await pathsOf(root, '', 'one/two')).toEqual(Array(3).fill('auth/token/roles/a'))
  expect(await pathsOf(root, '', 'one')).toEqual([])
  expect(await pathsOf(root, '?path=auth/token/roles')).toEqual([])
  const inner = await clientWith('path "*" { capabilities = ["read", "update", "create"] }', 'one')
  expect((await inner.read('sys/history', inside(''))).status).toBe(403)
  expect((await inner.write('two/auth/token/roles/a?revert=2', undefined, inside('one'))).status).toBe(200)
  expect((await root.read('auth/token/roles/a', ns)).body.data).toMatchObject({ orphan: true })

  await root.delete('sys/namespaces/two', inside('one'))
  await expect.poll(async () => (await root.read('sys/namespaces/two', inside('one'))).status).toBe(404)
  await root.write('sys/namespaces/two', {}, inside('one'))
  expect(await pathsOf(root, '', 'one/two')).toEqual([])
  expect(await pathsOf(root, '/deleted', 'one/two')).toEqual([])
})

test('a mount that moves to another namespace takes its history along', async () => {
  await root.write('sys/namespaces/target')
  await root.write('sys/auth/leaves', { type: 'jwt' })
  await twiceWritten('auth/leaves/role/a')
  await root.write('sys/remount', { from: 'auth/leaves', to: 'target/auth/arrived' })
  const ns = inside('target')
  await expect.poll(async () => (await root.read('auth/arrived/role/a', ns)).status).toBe(200)

  const { versions } = (await root.read('auth/arrived/role/a?history=true', ns)).body.data ?? {}
  expect(versions).toHaveLength(2)
  expect((await root.write('auth/arrived/role/a?revert=1', undefined, ns)).status).toBe(204)
  expect((await root.read('sys/auth/arrived/tune?history=true', ns)).body.data?.versions).toHaveLength(2)
  expect(await pathsOf(root, '?path=auth/leaves')).toEqual([])
})

test.each([
  ['since=24h', 200],
  ['since=2036-01-01T00:00:00Z', 200],
  ['since=tomorrow', 400],
  ['since=-1h', 400],
  ['limit=x', 400],
  ['limit=-5', 200],
  ['limit=100000000', 200],
  ['after=../../x', 400],
  ['after=zzz', 200],
])('the log with %s is %d', async (query, status) => {
  await twiceWritten()
  expect((await root.read(`sys/history?${query}`)).status).toBe(status)
})

test('since leaves out what is older, and next leads through all pages', async () => {
  const path = await twiceWritten()
  expect(await pathsOf(root, '?since=2036-01-01T00:00:00Z')).toEqual([])
  expect(await pathsOf(root, '?since=1h&limit=1')).toEqual([path])

  const all = await pathsOf(root, '?limit=1000')
  const seen: string[] = []
  for (let after = ''; ; ) {
    const { changes, next } = (await root.read(`sys/history?limit=3&after=${after}`)).body.data ?? {}
    seen.push(...(changes as unknown as Json[]).map(({ path }) => String(path)))
    if (next === undefined) break
    after = String(next)
  }
  expect(seen).toEqual(all)
})

test('a history can be wrapped', async () => {
  const path = await twiceWritten()
  const wrapped = await root.read(`${path}?history=true`, { headers: { 'X-Vault-Wrap-TTL': '60' } })
  const token = String(wrapped.body.wrap_info?.token)

  expect((await root.write('sys/wrapping/unwrap', { token })).body.data?.versions).toHaveLength(2)
})

test('a message with an effect comes back only for a caller with sudo', async () => {
  const folder = 'sys/config/ui/custom-messages'
  const message = {
    title: 'window',
    message: 'aGk=',
    start_time: '2036-01-01T00:00:00Z',
    end_time: '2036-01-02T00:00:00Z',
  }
  const made = await root.write(folder, { ...message, effect: 'no_new_credentials' })
  const path = `${folder}/${made.body.data?.id}`
  await root.write(path, message)
  const rules = (sudo: string) => `path "${folder}/*" { capabilities = ["update", "create"${sudo}] }`
  const plain = await clientWith(rules(''))
  const mighty = await clientWith(rules(', "sudo"'))

  expect((await plain.write(`${path}?revert=1`)).status).toBe(403)
  await root.delete(path)
  expect((await plain.write(`${path}?revert=1`)).status).toBe(403)
  expect((await plain.write(`${path}?revert=2`)).status).toBe(200)
  expect((await mighty.write(`${path}?revert=1`)).status).toBe(200)
  expect((await root.read(path)).body.data).toMatchObject({ effect: 'no_new_credentials' })
})
