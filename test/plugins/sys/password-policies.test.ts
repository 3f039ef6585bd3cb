import { describe, expect, test } from 'vitest'
import { inside } from '../../support/client.ts'
import { errorText } from '../../support/error-bodies.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())
/** For those that store nothing. */
const untouchedServer = shared(() => startTestServer())

const base = 'sys/policies/password'
const at = `${base}/db`
const strict = `
  length = 20 # of which
  rule "charset" {
    charset   = "abcdefghijklmnopqrstuvwxyz"
    min-chars = 16
  }
  rule "charset" { charset = "0123456789" min-chars = 3 }
  rule "charset" { charset = "!é" min-chars = 1 }
`
const inJson = JSON.stringify({
  length: 12,
  rule: [{ charset: { charset: 'ab', 'min-chars': 2 } }, { charset: { charset: 'ba0' } }],
})

const generated = async ({ root }: TestServer, path = at) =>
  String((await root.read(`${path}/generate`)).body.data?.['password'])

test('a policy is written, read, listed and deleted, in its namespace', async () => {
  const server = await sharedServer()
  const { root } = server
  await root.write('sys/namespaces/team', {})

  expect((await root.list(base)).status).toBe(404)
  expect((await root.write(at, { policy: strict })).status).toBe(204)
  expect((await root.write(`${base}/Two`, { policy: Buffer.from(inJson).toString('base64') })).status).toBe(
    204,
  )
  expect((await root.read(at)).body.data).toEqual({ policy: strict })
  expect((await root.read(`${base}/Two`)).body.data).toEqual({ policy: inJson })
  expect((await root.list(base)).body.data).toEqual({ keys: ['Two', 'db'] })
  expect((await root.read(at, inside('team'))).status).toBe(404)
  expect((await root.delete(at)).status).toBe(204)
  expect((await root.list(base)).body.data).toEqual({ keys: ['Two'] })
})

test('a policy that does not exist is 404, and generates nothing', async () => {
  const server = await sharedServer()
  const { root } = server

  for (const path of [at, `${at}/generate`]) {
    const { status, body } = await root.read(path)
    expect([status, errorText(body)]).toEqual([404, 'policy not found'])
  }
  expect((await root.delete(at)).status).toBe(204)
})

test('a password meets every rule, however strict, and no two are alike', async () => {
  const server = await sharedServer()
  await server.root.write(at, { policy: strict })
  await server.root.write(`${base}/json`, { policy: inJson })

  const passwords = await Promise.all(Array.from({ length: 50 }, () => generated(server)))
  const inOrder = passwords.map((password) => password.replaceAll(/[a-z]/g, 'a').replaceAll(/\d/g, '0'))

  for (const password of passwords) {
    expect([...password]).toHaveLength(20)
    expect(password.match(/[a-z]/g)).toHaveLength(16)
    expect(password.match(/\d/g)).toHaveLength(3)
    expect(password).toMatch(/[!é]/)
  }
  expect(new Set(passwords).size).toBe(50)
  // the characters that a rule demands have no place of their own
  expect(new Set(inOrder).size).toBeGreaterThan(1)
  expect(await generated(server, `${base}/json`)).toMatch(/^[ab0]{12}$/)
})

test('whoever may only generate sees no policy', async () => {
  const server = await sharedServer()
  const { root } = server
  await root.write(at, { policy: strict })
  await root.write('sys/policies/acl/maker', {
    policy: `path "${base}/+/generate" { capabilities = ["read"] }`,
  })
  const { body } = await root.write('auth/token/create', { policies: ['maker'] })
  const maker = server.as(String(body.auth?.client_token))

  expect((await maker.read(`${at}/generate`)).status).toBe(200)
  expect((await maker.read(at)).status).toBe(403)
  expect((await server.anonymous.read(`${at}/generate`)).status).toBe(403)
})

test('a policy ends with its namespace', async () => {
  const server = await sharedServer()
  const { root } = server
  await root.write('sys/namespaces/team', {})
  expect((await root.write(at, { policy: strict }, inside('team'))).status).toBe(204)
  await root.delete('sys/namespaces/team')
  await expect.poll(async () => (await root.read('sys/namespaces/team')).status).toBe(404)

  await root.write('sys/namespaces/team', {})

  expect((await root.read(at, inside('team'))).status).toBe(404)
})

const rule = (charset: string, least = 0) => `rule "charset" { charset = "${charset}" min-chars = ${least} }`
const listed = (...causes: string[]) =>
  `invalid password policy: ${causes.length === 1 ? '1 error' : `${causes.length} errors`} occurred:\n${causes.map((cause) => `\t* ${cause}\n`).join('')}\n`

describe('a policy is refused', () => {
  test.each([
    ['without a text', '', 'missing policy'],
    ['of no length', rule('abc'), listed('length must be > 0')],
    ['of no characters', 'length = 8', listed('no charset specified')],
    ['of neither', 'length = -1', listed('length must be > 0', 'no charset specified')],
    ['that is too short', `length = 3 ${rule('abc')}`, 'passwords must be between 4 and 100 characters'],
    ['that is too long', `length = 101 ${rule('abc')}`, 'passwords must be between 4 and 100 characters'],
    [
      'whose rules demand more than its length',
      `length = 8 ${rule('abc', 5)} ${rule('def', 4)}`,
      listed('specified rules require at least 9 characters but 8 is specified'),
    ],
    ['with control characters', `length = 8 ${rule('ab\\n')}`, listed('non-printable character in charset')],
    [
      'with too many characters',
      `length = 8 ${rule(Array.from({ length: 256 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join(''))}`,
      listed('charset is too long: limited to 255 characters'),
    ],
    [
      'that demands nothing of something',
      `length = 8 ${rule('abc')} ${rule('', 2)}`,
      'unable to construct test password from provided policy: are the rules impossible?',
    ],
    ['with a negative demand', `length = 8 ${rule('abc', -5)}`, listed('min-chars must be >= 0')],
    [
      'of an unknown rule',
      'length = 8 rule "words" { }',
      'invalid password policy: unable to parse rules: unable to parse rule words: unrecognized rule type words',
    ],
    [
      'with a misspelled field',
      'length = 8\nrule "charset" {\n charset = "abc"\n min_chars = 1\n}',
      'invalid password policy: unable to parse rules: unable to parse rule charset: invalid key "min_chars" on line 4',
    ],
    [
      'of a length in words',
      `length = "eight" ${rule('abc')}`,
      'invalid password policy: failed to decode configuration: length is not a whole number',
    ],
    [
      'that is not HCL',
      'length = 8\n}',
      "invalid password policy: unable to decode: At 2:1: expected a key, got: '}'",
    ],
    [
      'that is not JSON',
      '{"length": 8',
      expect.stringMatching(/^invalid password policy: unable to decode: At 1:/),
    ],
    [
      'of more than 64 KiB',
      `length = 8 ${rule('abc')}${' '.repeat(65_536)}`,
      'invalid password policy: the text is longer than 65536 characters',
    ],
  ])('%s', async (_, policy, expected) => {
    const server = await untouchedServer()

    const { status, body } = await server.root.write(at, { policy })

    expect([status, errorText(body)]).toEqual([400, expected])
    expect((await server.root.read(at)).status).toBe(404)
  })
})
