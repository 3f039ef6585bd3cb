import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { head, openWire } from './wire.ts'

const messages = 'sys/internal/ui/unauthenticated-messages'

test('every response has the custom headers of its status, and SIGHUP reads them again', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('headers.json')
  const write = (headers: object) => writeFileSync(file, JSON.stringify(headers))
  write({
    default: { 'X-Kind': 'any', 'Strict-Transport-Security': 'max-age=1' },
    '4xx': { 'X-Kind': 'refused' },
    '404': { 'X-Kind': 'nothing' },
    '304': { 'X-Kind': 'same' },
  })
  await using server = await startTestServer({ settings: { CUSTOM_HEADERS_FILE: file } })
  using wire = await openWire(server.url)
  const { headers } = await server.anonymous.read(messages)
  const kinds = async () => {
    const same = { headers: { 'If-None-Match': String(headers['etag']) } }
    const answers = await Promise.all([
      server.anonymous.read('sys/health'),
      server.anonymous.read(messages),
      server.anonymous.read(messages, same),
      server.root.read('auth/token/lookup-self'),
      server.anonymous.read('auth/token/lookup-self'),
      server.root.read('sys/policies/acl/none'),
      server.root.read('/v1//sys/health'),
    ])
    return answers.map(({ status, headers: all }) => [status, all['x-kind']])
  }

  const before = await kinds()
  wire.send(head('GE(T', '/'))
  const raw = await wire.answer()
  write({ default: { 'X-Kind': 'new' } })
  await server.server.reload()
  const after = await kinds()
  write({ default: { 'X-Vault-Token': 'x' } })
  await server.server.reload()

  expect(before).toEqual([
    [200, 'any'],
    [200, 'any'],
    [304, 'same'],
    [200, 'any'],
    [403, 'refused'],
    [404, 'nothing'],
    [307, 'any'],
  ])
  expect(raw?.headers).toMatchObject({ 'x-kind': 'refused', 'strict-transport-security': 'max-age=1' })
  expect(headers['strict-transport-security']).toBe('max-age=1')
  expect(after.map(([, kind]) => kind)).toEqual(after.map(() => 'new'))
  expect(await kinds()).toEqual(after)
})

test.each([
  ['{', 'must be a JSON object of default, 4xx or 404 to an object of header names to texts'],
  ['{"default":"x"}', 'must be a JSON object of default, 4xx or 404 to an object of header names to texts'],
  [
    '{"600":{"X-A":"x"}}',
    'must be a JSON object of default, 4xx or 404 to an object of header names to texts',
  ],
  ['{"default":{"X-VAULT-Token":"x"}}', 'the server sets X-VAULT-Token itself'],
  ['{"default":{"Cache-Control":"public"}}', 'the server sets Cache-Control itself'],
  ['{"404":{"Content-Length":"1"}}', 'the server sets Content-Length itself'],
  ['{"default":{"a b":"x"}}', 'a b is not a valid header'],
  ['{"default":{"X-A":"x\\r\\nX-B: y"}}', 'X-A is not a valid header'],
  ['{"default":{"X-A":"caf\u00e9"}}', 'X-A has a character beyond ASCII'],
])('a start with custom headers %s ends: %s', async (text, reason) => {
  await using folder = await temporaryFolder()
  const file = folder.file('headers.json')
  writeFileSync(file, text)

  await expect(startTestServer({ settings: { CUSTOM_HEADERS_FILE: file } })).rejects.toThrow(
    `GATEHOUSE_CUSTOM_HEADERS_FILE: ${reason}`,
  )
})
