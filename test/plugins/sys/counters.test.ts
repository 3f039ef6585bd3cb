import { afterAll, beforeAll, expect, test } from 'vitest'
import { errors } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { many } from '../../support/rounds.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

const clock = new FakeClock()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ clock })
})
afterAll(() => server[Symbol.asyncDispose]())

const inside = { headers: { 'X-Vault-Namespace': 'ns' } }
const totalOf = async (what: 'tokens' | 'entities', options = {}) => {
  const { body } = await server.root.read(`sys/internal/counters/${what}`, options)
  return body.data?.counters?.[what === 'tokens' ? 'service_tokens' : 'entities']?.total
}

test('tokens and entities are counted separately for each namespace', async () => {
  await server.root.write('sys/namespaces/ns')
  expect([
    await totalOf('tokens'),
    await totalOf('tokens', inside),
    await totalOf('entities'),
    await totalOf('entities', inside),
  ]).toEqual([1, 0, 0, 0])

  const tokens = many(150, 450)
  await Promise.all(
    Array.from({ length: tokens }, () =>
      server.root.write('auth/token/create', { policies: ['default'], ttl: '1h' }),
    ),
  )
  await server.root.write('auth/token/create', { policies: ['default'], type: 'batch', ttl: '1h' })
  await server.root.write('auth/token/create', { policies: ['default'] }, inside)
  await server.root.write('identity/entity', { name: 'one' })
  await server.root.write('identity/entity', { name: 'two' }, inside)
  await server.root.write('identity/entity', { name: 'three' }, inside)
  clock.advance(10)
  expect([
    await totalOf('tokens'),
    await totalOf('tokens', inside),
    await totalOf('entities'),
    await totalOf('entities', inside),
  ]).toEqual([tokens + 1, 1, 1, 2])

  clock.advance(3600)
  expect(await totalOf('tokens')).toBe(1)
})

test('many concurrent requests share one count', async () => {
  const totals = await Promise.all(Array.from({ length: 30 }, () => totalOf('tokens', inside)))

  expect(new Set(totals)).toEqual(new Set([1]))
})

test('requests are not counted any more', async () => {
  expect(await server.root.read('sys/internal/counters/requests')).toMatchObject({
    status: 404,
    body: errors('The functionality has been removed on this path'),
  })
})
