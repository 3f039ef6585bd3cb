import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

test.each([
  { path: 'random', body: {}, length: 44 },
  { path: 'random', body: { bytes: 4, format: 'hex' }, length: 8 },
  { path: 'random/8', body: { format: 'hex' }, length: 16 },
  { path: 'random/platform', body: { bytes: '0x10', format: 'hex' }, length: 32 },
  { path: 'random/platform/4', body: { format: 'hex' }, length: 8 },
  { path: 'random', body: { bytes: 131_072 }, length: 174_764 },
])('$path returns the number of bytes in $body', async ({ path, body, length }) => {
  const answer = await server.root.write(`sys/tools/${path}`, body)

  expect(answer.status).toBe(200)
  expect(String(answer.body.data?.random_bytes)).toHaveLength(length)
})

test('random bytes differ each time', async () => {
  const first = await server.root.write('sys/tools/random')
  const second = await server.root.write('sys/tools/random')

  expect(first.body.data?.random_bytes).not.toEqual(second.body.data?.random_bytes)
})

test.each([
  {
    body: { input: 'YWJj' },
    path: 'hash',
    sum: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  },
  {
    body: { input: 'YWJj', format: 'base64' },
    path: 'hash',
    sum: 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=',
  },
  {
    body: { input: 'YWJj', algorithm: 'sha2-224' },
    path: 'hash',
    sum: '23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7',
  },
  {
    body: { input: 'YWJj' },
    path: 'hash/sha3-256',
    sum: '3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532',
  },
  {
    body: { input: 'YW\r\nJj\n' },
    path: 'hash',
    sum: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  },
  { body: {}, path: 'hash', sum: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' },
])('$path digests $body', async ({ path, body, sum }) => {
  const answer = await server.root.write(`sys/tools/${path}`, body)

  expect(answer.body.data?.sum).toBe(sum)
})

test.each([
  { path: 'random', body: { bytes: 0 }, text: "'bytes' cannot be less than 1" },
  { path: 'random', body: { bytes: 131_073 }, text: "'bytes' should be less than 131072" },
  {
    path: 'random',
    body: { format: 'x' },
    text: 'unsupported encoding format "x"; must be "hex" or "base64"',
  },
  {
    path: 'random/moon',
    body: {},
    text: 'unsupported entropy source "moon"; must be "platform" or "seal", or "all"',
  },
  { path: 'hash', body: { format: 'x' }, text: 'unsupported encoding format x; must be "hex" or "base64"' },
  { path: 'hash/md5', body: {}, text: 'unsupported algorithm md5' },
  ...['!', 'YWJ', 'YWJ=c', '=', '====', 'YWJj=', 'Y W==', 'YWJj-_==', 'YWJjYWJj'.repeat(1_000_000) + '!'].map(
    (input) => ({
      path: 'hash',
      body: { input },
      text: 'unable to decode input as base64: illegal base64 data',
    }),
  ),
])('$path refuses $body', async ({ path, body, text }) => {
  const answer = await server.root.write(`sys/tools/${path}`, body)

  expect([answer.status, answer.body.errors]).toEqual([400, [text]])
})

test('ten megabytes are hashed like three bytes', async () => {
  const input = Buffer.alloc(7_500_000, 'abc')

  const { body } = await server.root.write('sys/tools/hash', { input: input.toString('base64') })

  expect(body.data?.sum).toBe(createHash('sha256').update(input).digest('hex'))
})

test('a new data key begins a new term; what the old one sealed still opens', async () => {
  await server.root.write('cubbyhole/kept', { a: '1' })
  const before = await server.root.read('sys/key-status')

  const rotated = await server.root.write('sys/rotate')

  const after = await server.root.read('sys/key-status')
  expect(rotated.status).toBe(204)
  expect(Number(after.body.data?.term)).toBe(Number(before.body.data?.term) + 1)
  expect(after.body.term).toEqual(after.body.data?.term)
  expect((await server.root.read('cubbyhole/kept')).body.data).toEqual({ a: '1' })
})
