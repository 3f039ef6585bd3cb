import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { enableAuditFile } from '../../support/audit-file.ts'
import { aPgpHolder, offer, openedBy, textsOf, unhidden } from '../../support/ceremonies.ts'
import type { Client, Json } from '../../support/client.ts'
import { errors, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const base = 'sys/rekey-recovery-key'
const init = (client: Client, body: object) => client.call('PUT', `${base}/init`, body)

/** A server with recovery keys, and their shares. */
async function openWithKeys(options: TestServerOptions = {}): Promise<TestServer & { keys: string[] }> {
  const server = await startTestServer(options)
  const { body } = await init(server.root, { secret_shares: 5, secret_threshold: 3 })
  return { ...server, keys: textsOf(body['keys']) }
}

describe('recovery keys', () => {
  test('a root token alone gets the first set, which the seal status counts', async () => {
    await using server = await startTestServer()
    expect(await server.root.read(`${base}/init`)).toMatchObject({ body: { started: false, required: 0 } })

    const { status, body } = await init(server.root, { secret_shares: 5, secret_threshold: 3 })

    expect(status).toBe(200)
    expect(body).toMatchObject({ complete: true, pgp_fingerprints: null, backup: false })
    expect(textsOf(body['keys'])).toEqual(Array(5).fill(expect.stringMatching(/^[0-9a-f]{66}$/)))
    expect(textsOf(body['keys_base64'])).toEqual(
      textsOf(body['keys']).map((key) => Buffer.from(key, 'hex').toString('base64')),
    )
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ t: 3, n: 5 })
    expect((await server.root.read(`${base}/init`)).body).toMatchObject({ started: false, required: 3 })
  })

  test('the holders of enough shares replace them; then the old ones are useless', async () => {
    await using server = await openWithKeys()
    const { root, keys } = server
    const begun = await init(root, { secret_shares: 1, secret_threshold: 1 })
    expect(begun.body).toMatchObject({ started: true, t: 1, n: 1, progress: 0, required: 3 })
    const { nonce } = begun.body

    const second = await offer(root, `${base}/update`, nonce, keys.slice(0, 2))
    expect(second.body).toMatchObject({ started: true, nonce, progress: 2 })
    const last = await offer(root, `${base}/update`, nonce, keys.slice(2, 3))

    expect(last.body).toMatchObject({ complete: true, nonce, verification_required: false })
    const [only = ''] = textsOf(last.body['keys'])
    expect(only).toMatch(/^[0-9a-f]{64}$/)
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ t: 1, n: 1 })
    const again = (await init(root, { secret_shares: 1, secret_threshold: 1 })).body['nonce']
    expect(await offer(root, `${base}/update`, again, keys.slice(0, 1))).toMatchObject({ status: 400 })
    expect((await offer(root, `${base}/update`, again, [only])).body).toMatchObject({ complete: true })
  })

  test('wrong shares are refused, and the progress starts over', async () => {
    await using server = await openWithKeys()
    const { root, keys } = server
    const { nonce } = (await init(root, { secret_shares: 3, secret_threshold: 2 })).body
    const wrong = [...keys.slice(0, 2), randomBytes(33).toString('hex')]

    expect(await offer(root, `${base}/update`, nonce, wrong)).toMatchObject({
      status: 400,
      body: { errors: [expect.stringMatching(/^rekey failed: invalid key: /)] },
    })

    expect((await root.read(`${base}/init`)).body).toMatchObject({ started: true, nonce, progress: 0 })
    const last = await offer(root, `${base}/update`, nonce, keys.slice(0, 3))
    expect(last.body).toMatchObject({ complete: true })
  })

  test('a rekey expires after ten minutes without another share', async () => {
    const clock = new FakeClock()
    await using server = await openWithKeys({ clock })
    const { root, keys } = server
    const { nonce } = (await init(root, { secret_shares: 1, secret_threshold: 1 })).body
    clock.advance(599)
    await offer(root, `${base}/update`, nonce, keys.slice(0, 1))
    clock.advance(599)
    expect((await root.read(`${base}/init`)).body).toMatchObject({ started: true, progress: 1 })

    clock.advance(1)

    expect((await root.read(`${base}/init`)).body).toMatchObject({ started: false, progress: 0, nonce: '' })
    expect(await offer(root, `${base}/update`, nonce, keys.slice(1, 2))).toMatchObject({
      status: 400,
      body: errors('no rekey in progress'),
    })
  })

  test('with verification, the new shares count once they were offered', async () => {
    await using server = await openWithKeys()
    const { root, keys } = server
    const plan = { secret_shares: 2, secret_threshold: 2, require_verification: true }
    const { nonce } = (await init(root, plan)).body
    const made = await offer(root, `${base}/update`, nonce, keys.slice(0, 3))
    const fresh = textsOf(made.body['keys'])
    const first = made.body['verification_nonce']
    expect(made.body).toMatchObject({ complete: true, verification_required: true })
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ t: 3, n: 5 })
    expect(await offer(root, `${base}/update`, nonce, keys.slice(0, 1))).toMatchObject({
      body: {
        errors: [
          `rekey operation already finished; verification must be performed; nonce for the verification operation is "${first}"`,
        ],
      },
    })

    const refused = await offer(root, `${base}/verify`, first, [fresh[0] ?? '', keys[0] ?? ''])
    expect(refused).toMatchObject({
      status: 400,
      body: errors('rekey verification failed; incorrect key shares supplied'),
    })
    const second = (await root.read(`${base}/verify`)).body['nonce']
    expect(second).not.toBe(first)
    await offer(root, `${base}/verify`, second, fresh.slice(0, 1))
    expect((await root.read(`${base}/verify`)).body).toMatchObject({ started: true, progress: 1, t: 2, n: 2 })
    const third = (await root.delete(`${base}/verify`)).body['nonce']
    expect((await root.read(`${base}/verify`)).body).toMatchObject({ nonce: third, progress: 0 })

    expect((await offer(root, `${base}/verify`, third, fresh)).body).toEqual({ nonce: third, complete: true })
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ t: 2, n: 2 })
  })

  test('with PGP keys, each share is readable by its holder, and the backup keeps it', async () => {
    await using server = await openWithKeys()
    const { root, keys } = server
    const holders = [await aPgpHolder(), await aPgpHolder()]
    const fingerprints = holders.map(({ fingerprint }) => fingerprint)
    const plan = {
      secret_shares: 2,
      secret_threshold: 2,
      pgp_keys: holders.map(({ text }) => text),
      backup: true,
    }
    const begun = await init(root, plan)
    expect(begun.body).toMatchObject({ pgp_fingerprints: fingerprints, backup: true })

    const { body } = await offer(root, `${base}/update`, begun.body['nonce'], keys.slice(0, 3))

    expect(body).toMatchObject({ complete: true, pgp_fingerprints: fingerprints, backup: true })
    const messages = textsOf(body['keys_base64'])
    const shares = await Promise.all(
      holders.map(({ privateKey }, at) => openedBy(privateKey, messages[at] ?? '')),
    )
    expect(shares).toEqual(Array(2).fill(expect.stringMatching(/^[0-9a-f]{66}$/)))
    for (const path of [`${base}/backup`, 'sys/rekey/recovery-key-backup']) {
      const stored = await root.read(path)
      expect(stored.body['data']).toEqual({
        nonce: begun.body['nonce'],
        keys: Object.fromEntries(fingerprints.map((one, at) => [one, [textsOf(body['keys'])[at]]])),
        keys_base64: Object.fromEntries(fingerprints.map((one, at) => [one, [messages[at]]])),
      })
    }
    expect(await root.delete(`${base}/backup`)).toMatchObject({ status: 204 })
    expect(await root.read(`${base}/backup`)).toMatchObject({
      status: 400,
      body: errors('no backed-up keys found'),
    })
    const { nonce } = (await init(root, { secret_shares: 1, secret_threshold: 1 })).body
    expect((await offer(root, `${base}/update`, nonce, shares)).body).toMatchObject({ complete: true })
  })

  describe('refusals', () => {
    const openOne = shared(openWithKeys)
    const valid = { secret_shares: 3, secret_threshold: 2 }

    test.each([
      { body: {}, text: 'invalid recovery configuration: shares must be at least one' },
      { body: { secret_shares: 2 }, text: 'invalid recovery configuration: threshold must be at least one' },
      { body: { ...valid, secret_threshold: 4 }, text: 'provided threshold greater than the total shares' },
      { body: { ...valid, pgp_keys: ['eA=='] }, text: 'incorrect number of PGP keys for rekey' },
      {
        body: { ...valid, backup: true },
        text: 'cannot request a backup of the new keys without providing PGP keys for encryption',
      },
      {
        body: { ...valid, pgp_keys: ['x', 'x', 'x'] },
        text: 'invalid recovery configuration: error decoding given PGP key: illegal base64 data',
      },
      {
        body: { SECRET_shares: 'three' },
        text: 'failed to parse JSON input: json: cannot unmarshal string into Go struct field RekeyRequest.secret_shares of type int',
      },
      {
        body: { secret_shares: 2.5 },
        text: 'failed to parse JSON input: json: cannot unmarshal number 2.5 into Go struct field RekeyRequest.secret_shares of type int',
      },
      {
        body: { ...valid, pgp_keys: [1] },
        text: 'failed to parse JSON input: json: cannot unmarshal number into Go struct field RekeyRequest.pgp_keys of type string',
      },
    ])('init with $body is 400', async ({ body, text }) => {
      const { root } = await openOne()

      expect(await init(root, body)).toMatchObject({ status: 400, body: errors(text) })
      expect((await root.read(`${base}/init`)).body).toMatchObject({ started: false })
    })

    test.each([
      { path: `${base}/update`, body: { key: 'ab'.repeat(33) }, text: 'no rekey in progress' },
      { path: `${base}/verify`, body: { key: 'ab'.repeat(33) }, text: 'no rekey in progress' },
      { path: `${base}/update`, body: {}, text: "'key' must be specified in request body as JSON" },
      { path: `${base}/update`, body: { key: 'x' }, text: "'key' must be a valid hex or base64 string" },
      { path: `${base}/update`, body: { key: 'abcd' }, text: 'key is shorter than minimum 16 bytes' },
      {
        path: 'sys/generate-root/update',
        body: { key: 'abcd' },
        text: 'invalid key: key is shorter than minimum 16 bytes',
      },
      {
        path: 'sys/generate-root/update',
        body: { key: 'ab'.repeat(33) },
        text: 'no root generation in progress',
      },
      { path: 'sys/generate-root/attempt', body: { otp: 'short' }, text: 'OTP string is wrong length' },
      {
        path: 'sys/generate-root/attempt',
        body: { pgp_key: 'eHg=' },
        text: expect.stringMatching(/^error parsing PGP key: error parsing given PGP key: /),
      },
      { path: 'sys/rekey/init', body: valid, text: 'rekey is not available with seal type static' },
      {
        path: 'sys/rekey/update',
        body: { key: 'ab'.repeat(33) },
        text: 'rekey is not available with seal type static',
      },
    ])('PUT $path with $body is 400', async ({ path, body, text }) => {
      const { root } = await openOne()

      expect(await root.call('PUT', path, body)).toMatchObject({ status: 400, body: { errors: [text] } })
    })

    test.each([
      ['GET', `${base}/verify`, 'no rekey configuration found'],
      ['GET', `${base}/backup`, 'no backed-up keys found'],
      ['GET', 'sys/rekey/init', 'rekey is not available with seal type static'],
      ['DELETE', 'sys/rekey/init', 'rekey is not available with seal type static'],
      ['GET', 'sys/rekey/verify', 'rekey is not available with seal type static'],
      ['GET', 'sys/rekey/backup', 'rekey is not available with seal type static'],
      ['DELETE', 'sys/rekey/backup', 'rekey is not available with seal type static'],
    ])('%s %s is 400', async (method, path, text) => {
      const { root } = await openOne()

      expect(await root.call(method, path)).toMatchObject({ status: 400, body: errors(text) })
    })
  })

  test('the same share counts once; another nonce, and a second rekey, are refused', async () => {
    await using server = await openWithKeys()
    const { root, keys } = server
    const { nonce } = (await init(root, { secret_shares: 1, secret_threshold: 1 })).body
    const first = keys.slice(0, 1)
    await offer(root, `${base}/update`, nonce, first)

    expect(await offer(root, `${base}/update`, nonce, first)).toMatchObject({
      body: errors('given key has already been provided during this rekey operation'),
    })
    expect(await offer(root, `${base}/update`, 'x', keys.slice(1))).toMatchObject({
      body: errors(`incorrect nonce supplied; nonce for this rekey operation is "${nonce}"`),
    })
    expect(await init(root, { secret_shares: 1, secret_threshold: 1 })).toMatchObject({
      body: errors('rekey already in progress'),
    })
    expect((await root.read(`${base}/init`)).body).toMatchObject({ progress: 1 })
    expect(await root.delete(`${base}/init`)).toMatchObject({ status: 204 })
    expect((await root.read(`${base}/init`)).body).toMatchObject({ started: false, progress: 0 })
  })
})

describe('generating a root token', () => {
  const attempt = 'sys/generate-root/attempt'
  const update = 'sys/generate-root/update'

  test('the holders of enough shares get a root token that only the one-time password shows', async () => {
    await using server = await openWithKeys()
    const { root, keys, anonymous } = server
    const begun = await root.call('PUT', attempt)
    expect(begun.body).toMatchObject({
      started: true,
      progress: 0,
      required: 3,
      complete: false,
      encoded_token: '',
      otp: expect.stringMatching(/^[0-9A-Za-z]{28}$/),
      otp_length: 28,
      pgp_fingerprint: '',
    })
    expect((await root.read(attempt)).body).toMatchObject({ started: true, otp: '' })
    const { nonce, otp } = begun.body

    const second = await offer(root, update, nonce, keys.slice(0, 2))
    expect(second.body).toMatchObject({ progress: 2, required: 3, complete: false, encoded_token: '' })
    const { body } = await offer(root, update, nonce, keys.slice(2, 3))

    expect(body).toMatchObject({ progress: 3, complete: true, nonce, otp: '' })
    expect(body['encoded_root_token']).toBe(body['encoded_token'])
    expect(String(body['encoded_token'])).not.toContain('=')
    const token = unhidden(body['encoded_token'], otp)
    expect((await server.as(token).read('auth/token/lookup-self')).body['data']).toMatchObject({
      policies: ['root'],
      path: 'auth/token/root',
      ttl: 0,
    })
    const decoded = await anonymous.write('sys/decode-token', { encoded_token: body['encoded_token'], otp })
    expect(decoded.body['data']).toEqual({ token })
    expect((await root.read(attempt)).body).toMatchObject({ started: false, nonce: '', progress: 0 })
  })

  test('a client may choose the one-time password', async () => {
    await using server = await openWithKeys()
    const otp = 'x'.repeat(28)
    const begun = await server.root.call('PUT', attempt, { otp })
    expect(begun.body).toMatchObject({ started: true, otp: '' })

    const { body } = await offer(server.root, update, begun.body['nonce'], server.keys.slice(2))

    const token = unhidden(body['encoded_token'], otp)
    expect(await server.as(token).read('sys/mounts')).toMatchObject({ status: 200 })
  })

  test('with a PGP key, only its owner can read the token', async () => {
    await using server = await openWithKeys()
    const { privateKey, fingerprint, text } = await aPgpHolder()
    const begun = await server.root.call('PUT', attempt, { pgp_key: text })
    expect(begun.body).toMatchObject({ pgp_fingerprint: fingerprint, otp: '' })

    const { body } = await offer(server.root, update, begun.body['nonce'], server.keys.slice(0, 3))

    expect(body).toMatchObject({ complete: true, pgp_fingerprint: fingerprint })
    const token = await openedBy(privateKey, String(body['encoded_token']))
    expect(await server.as(token).read('sys/mounts')).toMatchObject({ status: 200 })
  })

  test('wrong shares make no token, and the progress starts over', async () => {
    await using server = await openWithKeys()
    const { nonce } = (await server.root.call('PUT', attempt)).body

    const refused = await offer(server.root, update, nonce, [
      ...server.keys.slice(0, 2),
      randomBytes(33).toString('hex'),
    ])

    expect(refused).toMatchObject({
      status: 400,
      body: { errors: [expect.stringMatching(/^root generation aborted: invalid key: /)] },
    })
    expect((await server.root.read(attempt)).body).toMatchObject({ started: true, nonce, progress: 0 })
  })

  test('a repeated share, another nonce and a second attempt are refused; DELETE cancels', async () => {
    await using server = await openWithKeys()
    const { root, keys } = server
    const { nonce } = (await root.call('PUT', attempt)).body
    await offer(root, update, nonce, keys.slice(0, 1))

    expect(await offer(root, update, nonce, keys.slice(0, 1))).toMatchObject({
      body: errors('given key has already been provided during this generation operation'),
    })
    expect(await offer(root, update, '', keys.slice(1))).toMatchObject({
      body: errors(`incorrect nonce supplied; nonce for this root generation operation is "${nonce}"`),
    })
    expect(await root.call('PUT', attempt)).toMatchObject({
      body: errors('root generation already in progress'),
    })
    expect(await root.delete(attempt)).toMatchObject({ status: 204 })
    expect((await root.read(attempt)).body).toMatchObject({ started: false, progress: 0 })
  })

  test('without recovery keys there is nobody to authorize it', async () => {
    await using server = await startTestServer()

    expect(await server.root.call('PUT', attempt)).toMatchObject({
      status: 400,
      body: errors('no recovery key exists: create one with sys/rekey-recovery-key/init'),
    })
  })
})

describe('sys/decode-token', () => {
  const openOne = shared(startTestServer)

  test.each([
    { encoded_token: '!', otp: 'x', text: /^error decoding base64'd token: / },
    { encoded_token: 'YWI=', otp: 'xx', text: /^error decoding base64'd token: / },
    { encoded_token: 'YWI', otp: 'x', text: /^error xoring token: / },
  ])('$encoded_token with $otp is refused', async ({ text, ...body }) => {
    const { anonymous } = await openOne()

    const refused = await anonymous.write('sys/decode-token', body)

    expect(refused).toMatchObject({ status: 400, body: { errors: [expect.stringMatching(text)] } })
  })
})

describe('audit', () => {
  const device = { options: { log_raw: 'true' } }

  test('no share, password or token of a ceremony is in an audit file, even of one that hashes nothing', async () => {
    await using folder = await temporaryFolder()
    await using server = await startTestServer({ settings: { AUDIT_DIRS: folder.path } })
    const { root, anonymous } = server
    const file = await enableAuditFile(root, folder.file('audit.log'), device)
    const one = { secret_shares: 1, secret_threshold: 1 }
    const keys = textsOf((await init(root, one)).body['keys'])
    const begun = (await init(root, { ...one, require_verification: true })).body
    const made = (await offer(root, `${base}/update`, begun['nonce'], keys)).body
    const second = textsOf(made['keys'])
    await offer(root, `${base}/verify`, made['verification_nonce'], second)
    const rotating = (await root.write('sys/rotate/recovery/init', one)).body['data']
    const rotated = (await offer(root, 'sys/rotate/recovery/update', rotating?.['nonce'], second)).body[
      'data'
    ]
    const third = textsOf(rotated?.['keys'])
    const secrets = [...keys, ...second, ...third]
    for (const [path, isWrapped] of [
      ['sys/generate-root', false],
      ['sys/generate-root-token', true],
    ] as const) {
      const inside = (body: Json): Json => (isWrapped ? body['data'] : body) ?? {}
      const { nonce, otp } = inside((await root.call('PUT', `${path}/attempt`)).body)
      const last = inside((await offer(root, `${path}/update`, nonce, third)).body)
      const encoded_token = last['encoded_token']
      const decoded = await anonymous.write('sys/decode-token', { encoded_token, otp })
      secrets.push(
        ...textsOf({ otp, encoded_token, token: decoded.body['data']?.['token'] } as unknown as Json),
      )
    }

    const text = file.text()

    expect(secrets.filter((secret) => secret === '' || secret === 'undefined')).toEqual([])
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
    const inBase64 = [...keys, ...second, ...third].map((key) => Buffer.from(key, 'hex').toString('base64'))
    expect(inBase64.filter((secret) => text.includes(secret))).toEqual([])
    const asked = file.entries().map((entry) => `${entry['type']} ${entry['request']?.['path']}`)
    for (const path of [`${base}/update`, 'sys/rotate/recovery/update', 'sys/generate-root-token/update'])
      expect(asked).toEqual(expect.arrayContaining([`request ${path}`, `response ${path}`]))
  })
})

test('new shares reach their client even if the response cannot be audited', async () => {
  const collector = createServer(async (request, response) => {
    const line = JSON.parse((await request.toArray()).join('')) as Record<string, unknown>
    response.writeHead(line['type'] === 'response' ? 500 : 204).end()
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  await using stack = new AsyncDisposableStack()
  stack.defer(() => collector.closeAllConnections())
  stack.defer(() => void collector.close())
  const host = `127.0.0.1:${(collector.address() as AddressInfo).port}`
  const devices = [{ path: 'http', type: 'http', options: { uri: `http://${host}/lines` } }]
  const settings = { AUDIT: JSON.stringify(devices), AUDIT_HTTP_HOSTS: host }
  const { root } = stack.use(await startTestServer({ settings }))

  const first = await init(root, { secret_shares: 1, secret_threshold: 1 })
  const status = await root.read(`${base}/init`)
  const wrapped = await root.read('sys/rotate/recovery/init')

  expect(first).toMatchObject({ status: 200, body: { complete: true, keys: [expect.any(String)] } })
  expect([status, wrapped]).toMatchObject(Array(2).fill({ status: 500, body: errors('internal error') }))
})

describe('access', () => {
  const paths = [
    ['GET', 'sys/rekey/init'],
    ['PUT', 'sys/rekey/init'],
    ['DELETE', 'sys/rekey/init'],
    ['PUT', 'sys/rekey/update'],
    ['GET', 'sys/rekey/verify'],
    ['GET', `${base}/init`],
    ['PUT', `${base}/init`],
    ['PUT', `${base}/update`],
    ['PUT', `${base}/verify`],
    ['GET', 'sys/generate-root/attempt'],
    ['PUT', 'sys/generate-root/attempt'],
    ['PUT', 'sys/generate-root/update'],
  ] as const
  const openOne = shared(startTestServer)

  test.each(paths)('%s %s does not exist without a token, and needs sudo', async (method, path) => {
    const { root, anonymous, as } = await openOne()
    await root.write('sys/policies/acl/half', { policy: `path "${path}" { capabilities = ["update"] }` })
    const { body } = await root.write('auth/token/create', { policies: ['half'] })
    const half = as(String(body['auth']?.['client_token']))

    expect(await anonymous.call(method, path, {})).toMatchObject({
      status: 405,
      body: errors('unsupported operation'),
    })
    expect(await half.call(method, path, {})).toMatchObject({ status: 403, body: notAllowed })
    expect(await as('hvs.unknown').call(method, path, {})).toMatchObject({ status: 403 })
  })

  test('update and sudo on the path are enough', async () => {
    const { root, as } = await openOne()
    const policy = 'path "sys/generate-root/attempt" { capabilities = ["update", "sudo"] }'
    await root.write('sys/policies/acl/whole', { policy })
    const { body } = await root.write('auth/token/create', { policies: ['whole'] })
    const whole = as(String(body['auth']?.['client_token']))

    expect(await whole.read('sys/generate-root/attempt')).toMatchObject({ status: 200 })
    expect(await whole.read('sys/rekey/init')).toMatchObject({ status: 403 })
  })

  test('one use of a token is enough for the first recovery keys', async () => {
    await using server = await startTestServer()
    const policy = `path "${base}/init" { capabilities = ["update", "sudo"] }`
    await server.root.write('sys/policies/acl/once', { policy })
    const { body } = await server.root.write('auth/token/create', { policies: ['once'], num_uses: 1 })
    const once = server.as(String(body['auth']?.['client_token']))

    const made = await init(once, { secret_shares: 1, secret_threshold: 1 })

    expect(made).toMatchObject({ status: 200, body: { complete: true } })
    expect(await once.read(`${base}/init`)).toMatchObject({ status: 403 })
  })

  test('a backup needs sudo', async () => {
    const { root, anonymous, as } = await openOne()
    await root.write('sys/policies/acl/reads', { policy: 'path "sys/rekey*" { capabilities = ["read"] }' })
    const { body } = await root.write('auth/token/create', { policies: ['reads'] })

    expect(await anonymous.read(`${base}/backup`)).toMatchObject({ status: 403 })
    expect(await as(String(body['auth']?.['client_token'])).read(`${base}/backup`)).toMatchObject({
      status: 403,
    })
  })

  test('what OPEN_CEREMONIES names is served to everyone, but the first recovery keys', async () => {
    await using server = await startTestServer({ settings: { OPEN_CEREMONIES: 'rekey,generate-root' } })
    const { anonymous, root } = server
    const plan = { secret_shares: 1, secret_threshold: 1 }
    expect(await init(anonymous, plan)).toMatchObject({ status: 403, body: notAccepted })
    const keys = textsOf((await init(root, plan)).body['keys'])

    const { nonce, otp } = (await anonymous.call('PUT', 'sys/generate-root/attempt')).body
    const { body } = await offer(anonymous, 'sys/generate-root/update', nonce, keys)
    const begun = await init(anonymous, plan)

    const token = unhidden(body['encoded_token'], otp)
    expect(await server.as(token).read('sys/mounts')).toMatchObject({ status: 200 })
    const rekeyed = await offer(anonymous, `${base}/update`, begun.body['nonce'], keys)
    expect(rekeyed.body).toMatchObject({ complete: true })
  })

  test('a sealed server refuses ceremonies before it looks at the token', async () => {
    await using server = await openWithKeys()
    await server.root.call('PUT', 'sys/seal')

    for (const [method, path] of paths)
      expect(await server.anonymous.call(method, path, {})).toMatchObject({
        status: 503,
        body: errors('Vault is sealed'),
      })
  })

  test.each(['PATCH', 'LIST', 'HEAD'])('%s is 405', async (method) => {
    const { root } = await openOne()

    for (const [, path] of paths) expect(await root.call(method, path)).toMatchObject({ status: 405 })
  })

  test('a namespace has none of it', async () => {
    const { root } = await openOne()

    for (const [method, path] of paths)
      expect(await root.call(method, path, {}, { headers: { 'X-Vault-Namespace': 'a' } })).toMatchObject({
        status: 400,
        body: errors('operation unavailable in namespaces'),
      })
  })
})
