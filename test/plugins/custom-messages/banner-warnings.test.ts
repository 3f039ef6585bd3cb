import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Client } from '../../support/client.ts'
import { type MessageFixture, made, startMessageFixture } from './message-fixture.ts'

let fixture: MessageFixture
beforeEach(async () => {
  fixture = await startMessageFixture({ settings: { MESSAGE_WARNINGS: 'true' } })
})
afterEach(() => fixture[Symbol.asyncDispose]())

const warningsOf = async (client: Client) => (await client.read('auth/token/lookup-self')).body['warnings']

async function login({ root, as }: MessageFixture, fields: object = {}): Promise<Client> {
  const { body } = await root.write('auth/token/create', fields)
  return as(String(body.auth?.['client_token']))
}

test('each token is told of the banner once an hour', async () => {
  const [one, other] = [await login(fixture, { ttl: '5h' }), await login(fixture, { ttl: '5h' })]
  await made(fixture, { title: 'New disks', effect: 'read_only', end_time: '2024-06-01T15:00:00Z' })
  const line = ['New disks (Writes resume on 2024-06-01 at 15:00 UTC)']

  expect([await warningsOf(one), await warningsOf(one)]).toEqual([line, null])
  expect(await warningsOf(other)).toEqual(line)
  fixture.clock.advance(3601)
  expect([await warningsOf(one), await warningsOf(one)]).toEqual([line, null])
})

test('another banner is told at once, and of several only the first', async () => {
  await made(fixture, { title: 'one' })
  const client = await login(fixture, { ttl: '5h' })
  expect(await warningsOf(client)).toEqual(['one'])

  await made(fixture, { title: 'two', priority: 1 })

  expect([await warningsOf(client), await warningsOf(client)]).toEqual([['two'], null])
})

test('a batch token is told once too', async () => {
  await made(fixture, { title: 'one' })
  const client = await login(fixture, { type: 'batch', ttl: '1h', policies: ['default'] })

  expect([await warningsOf(client), await warningsOf(client)]).toEqual([['one'], null])
})

test.each([
  { row: 'a dialog', fields: { type: 'modal' } },
  { row: 'a banner before login', fields: { authenticated: false } },
  { row: 'a banner to come', fields: { start_time: '2025-01-01T00:00:00Z' } },
  { row: 'a banner for others', fields: { audience: { policies: ['others'] } } },
])('nobody is told of $row', async ({ fields }) => {
  await made(fixture, fields)

  expect(await warningsOf(await login(fixture))).toBe(null)
})

test('who is in the audience is told', async () => {
  await made(fixture, { title: 'for you', audience: { policies: ['default'] } })

  expect(await warningsOf(await login(fixture, { policies: ['default'] }))).toEqual(['for you'])
})

test('an empty list stays 404, and a wrapped response says nothing', async () => {
  await made(fixture, { title: 'one' })
  const { root } = fixture
  await warningsOf(root)
  const client = await login(fixture)

  expect((await client.list('cubbyhole')).status).toBe(404)
  const wrapped = await client.read('auth/token/lookup-self', { headers: { 'X-Vault-Wrap-TTL': '60' } })
  expect(wrapped.body['warnings']).toBe(null)
  expect(await warningsOf(client)).toEqual(['one'])
})

test('without the setting nobody is told', async () => {
  await using quiet = await startMessageFixture()
  await made(quiet, { title: 'one' })

  expect(await warningsOf(quiet.root)).toBe(null)
})
