import { randomBytes } from 'node:crypto'
import { mkdir, rmdir } from 'node:fs/promises'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { aPgpHolder, offer, openedBy, textsOf, unhidden } from '../../support/ceremonies.ts'
import type { Client } from '../../support/client.ts'
import { errors, invalidToken, notAccepted } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const shamir = { dev: false, settings: { SEAL: 'shamir' } }
const init = (client: Client, body: object) => client.call('PUT', 'sys/init', body)
const unseal = (client: Client, key: string) => client.call('PUT', 'sys/unseal', { key })
const fiveThree = { secret_shares: 5, secret_threshold: 3 }

type Initialized = TestServer & { readonly keys: string[]; readonly token: string }

/** A server with a Shamir seal that somebody has initialized; it is sealed. */
async function initialized(
  plan: object = fiveThree,
  { settings, ...options }: TestServerOptions = {},
): Promise<Initialized> {
  const server = await startTestServer({
    ...options,
    ...shamir,
    settings: { ...shamir.settings, ...settings },
  })
  const { status, text, body } = await init(server.anonymous, plan)
  expect(status, text).toBe(200)
  const token = String(body['root_token'])
  return { ...server, keys: textsOf(body['keys']), token, root: server.as(token) }
}

async function unsealed(plan: object = fiveThree, options: TestServerOptions = {}): Promise<Initialized> {
  const server = await initialized(plan, options)
  for (const key of server.keys.slice(0, 3)) await unseal(server.anonymous, key)
  expect(await server.anonymous.read('sys/health')).toMatchObject({ status: 200 })
  return server
}

describe('a fresh server', () => {
  const openOne = shared(() => startTestServer(shamir))

  test('says that it is not initialized', async () => {
    const { anonymous } = await openOne()

    expect((await anonymous.read('sys/init')).body).toEqual({ initialized: false })
    expect(await anonymous.read('sys/health')).toMatchObject({ status: 501, body: { initialized: false } })
    expect(await anonymous.read('/health/ready')).toMatchObject({ body: { status: 'uninitialized' } })
    expect(await anonymous.read('sys/seal-status')).toMatchObject({
      status: 200,
      body: { type: 'shamir', initialized: false, sealed: true, t: 0, n: 0, recovery_seal: false },
    })
    expect(await unseal(anonymous, 'ab'.repeat(33))).toMatchObject({
      status: 400,
      body: errors('Vault is not initialized'),
    })
  })

  const invalid = 'invalid seal configuration: '
  test.each([
    { body: {}, text: `${invalid}shares must be at least one` },
    { body: { secret_shares: -1, secret_threshold: 1 }, text: `${invalid}shares must be at least one` },
    { body: { secret_shares: 5 }, text: `${invalid}threshold must be at least one` },
    {
      body: { secret_shares: 5, secret_threshold: 1 },
      text: `${invalid}threshold must be greater than one for multiple shares`,
    },
    { body: { secret_shares: 256, secret_threshold: 3 }, text: `${invalid}shares must be less than 256` },
    { body: { secret_shares: 5, secret_threshold: 256 }, text: `${invalid}threshold must be less than 256` },
    {
      body: { secret_shares: 5, secret_threshold: 6 },
      text: `${invalid}threshold cannot be larger than shares`,
    },
    {
      body: { ...fiveThree, pgp_keys: ['eA=='] },
      text: `${invalid}count mismatch between number of provided PGP keys and number of shares`,
    },
    {
      body: { secret_shares: 1, secret_threshold: 1, pgp_keys: ['!'] },
      text: `${invalid}error decoding given PGP key: illegal base64 data`,
    },
    {
      body: { ...fiveThree, root_token_pgp_key: '!' },
      text: 'invalid root_token_pgp_key: error decoding given PGP key: illegal base64 data',
    },
    {
      body: { ...fiveThree, recovery_shares: 5, recovery_threshold: 3 },
      text: 'parameters recovery_shares,recovery_threshold not applicable to seal type shamir',
    },
    {
      body: { secret_shares: '5', secret_threshold: 3 },
      text: 'failed to parse JSON input: json: cannot unmarshal string into Go struct field InitRequest.secret_shares of type int',
    },
  ])('$body cannot initialize it', async ({ body, text }) => {
    const { anonymous } = await openOne()

    expect(await init(anonymous, body)).toMatchObject({ status: 400, body: errors(text) })
    expect((await anonymous.read('sys/init')).body).toEqual({ initialized: false })
  })

  test('initializes once, however many ask at the same time', async () => {
    await using server = await startTestServer(shamir)

    const answers = await Promise.all(Array.from({ length: 4 }, () => init(server.anonymous, fiveThree)))

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect(answers.filter(({ status }) => status === 400).map(({ body }) => body)).toEqual(
      Array(3).fill(errors('Vault is already initialized')),
    )
  })
})

describe('initialization', () => {
  const openOne = shared(initialized)

  test('returns five shares and a root token, and leaves the server sealed', async () => {
    const { keys, token, anonymous, root } = await openOne()

    expect(keys).toEqual(Array(5).fill(expect.stringMatching(/^[0-9a-f]{66}$/)))
    expect(token).toMatch(/^hvs\.\w{24}$/)
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({
      type: 'shamir',
      initialized: true,
      sealed: true,
      t: 3,
      n: 5,
      progress: 0,
      nonce: '',
      recovery_seal: false,
    })
    expect(await anonymous.read('sys/health')).toMatchObject({ status: 503 })
    expect(await root.read('auth/token/lookup-self')).toMatchObject({
      status: 503,
      body: errors('Vault is sealed'),
    })
  })

  test('is not repeated, and an invalid plan is refused first', async () => {
    const { anonymous } = await openOne()

    expect(await init(anonymous, fiveThree)).toMatchObject({
      status: 400,
      body: errors('Vault is already initialized'),
    })
    expect(await init(anonymous, { ...fiveThree, secret_threshold: 6 })).toMatchObject({
      status: 400,
      body: errors('invalid seal configuration: threshold cannot be larger than shares'),
    })
  })

  test('on a full disk, nothing is initialized, and the next attempt succeeds', async () => {
    const faults = new StorageFaults()
    await using server = await startTestServer({ ...shamir, faults })
    faults.arm('storage.before-commit', 'full')

    expect(await init(server.anonymous, fiveThree)).toMatchObject({
      status: 503,
      body: errors('storage is full'),
    })
    expect((await server.anonymous.read('sys/init')).body).toEqual({ initialized: false })
    expect(await init(server.anonymous, fiveThree)).toMatchObject({ status: 200 })
  })

  test('the only share of one is the key', async () => {
    await using server = await initialized({ secret_shares: 1, secret_threshold: 1, stored_shares: 1 })

    expect(server.keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect((await unseal(server.anonymous, server.keys[0] ?? '')).body).toMatchObject({ sealed: false })
  })

  test('with PGP keys, only their owners can read the shares and the root token', async () => {
    const holders = [await aPgpHolder(), await aPgpHolder()]
    await using server = await startTestServer(shamir)
    const { body } = await init(server.anonymous, {
      secret_shares: 2,
      secret_threshold: 2,
      pgp_keys: holders.map(({ text }) => text),
      root_token_pgp_key: holders[1]?.text,
    })

    const messages = textsOf(body['keys_base64'])
    expect(textsOf(body['keys'])).toEqual(messages.map((one) => Buffer.from(one, 'base64').toString('hex')))
    for (const [at, { privateKey }] of holders.entries())
      await unseal(server.anonymous, await openedBy(privateKey, messages[at] ?? ''))

    const [, holder] = holders
    if (holder === undefined) throw new Error('there is no holder')
    const token = await openedBy(holder.privateKey, String(body['root_token']))
    expect((await server.as(token).read('auth/token/lookup-self')).body['data']).toMatchObject({
      policies: ['root'],
    })
  })

  test('a store keeps its seal and its data over a restart', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('gatehouse.db')}` }
    let first: Initialized
    {
      await using server = await unsealed(fiveThree, { settings })
      await server.root.write('auth/jwt/role/ci', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' })
      first = server
    }

    await using server = await startTestServer({ ...shamir, settings: { ...shamir.settings, ...settings } })

    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({
      initialized: true,
      sealed: true,
      t: 3,
      n: 5,
    })
    for (const key of first.keys.slice(2)) await unseal(server.anonymous, key)
    expect(await server.as(first.token).read('auth/jwt/role/ci')).toMatchObject({
      body: { data: { bound_subject: 'a' } },
    })
  })
})

describe('unsealing', () => {
  test('takes the threshold of distinct shares, in any order and encoding', async () => {
    await using server = await initialized()
    const { anonymous, keys, root } = server
    const [first = '', , , fourth = '', fifth = ''] = keys

    const one = await unseal(anonymous, fifth)
    const again = await unseal(anonymous, fifth)
    const two = await unseal(anonymous, Buffer.from(first, 'hex').toString('base64'))

    expect(one).toMatchObject({ status: 200, body: { sealed: true, progress: 1, t: 3, n: 5 } })
    expect(one.body['nonce']).toMatch(/^[0-9a-f-]{36}$/)
    expect(again).toMatchObject({ status: 200, body: { progress: 1, nonce: one.body['nonce'] } })
    expect(two).toMatchObject({ status: 200, body: { sealed: true, progress: 2 } })
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ progress: 2 })
    expect(await unseal(anonymous, fourth.toUpperCase())).toMatchObject({
      status: 200,
      body: { sealed: false, progress: 0, nonce: '', cluster_id: expect.any(String) },
    })
    expect(await root.read('auth/token/lookup-self')).toMatchObject({ status: 200 })
    expect(await unseal(anonymous, first)).toMatchObject({
      status: 200,
      body: { sealed: false, progress: 0 },
    })
  })

  test('shares that arrive while the store opens are discarded', async () => {
    await using server = await initialized()
    const { anonymous, keys, root } = server

    await Promise.all(keys.map((key) => unseal(anonymous, key)))

    const { body } = await anonymous.read('sys/seal-status')
    expect(body).toMatchObject({ sealed: false, progress: 0, nonce: '' })
    expect(await root.call('PUT', 'sys/seal')).toMatchObject({ status: 204 })
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ progress: 0, nonce: '' })
  })

  test('wrong shares are refused, and the progress starts over', async () => {
    await using server = await initialized()
    const { anonymous, keys } = server
    await unseal(anonymous, keys[0] ?? '')
    await unseal(anonymous, keys[1] ?? '')

    const { status, body } = await unseal(anonymous, randomBytes(33).toString('hex'))

    expect(status).toBe(400)
    expect(textsOf(body['errors'])).toEqual([
      expect.stringMatching(/^unable to retrieve stored keys: invalid key:/),
    ])
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: true, progress: 0 })
    for (const key of keys.slice(0, 3)) await unseal(anonymous, key)
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: false })
  })

  test('shares that cannot belong together are refused alike', async () => {
    await using server = await initialized({ secret_shares: 2, secret_threshold: 2 })
    await unseal(server.anonymous, 'ab'.repeat(33))

    const { status, body } = await unseal(server.anonymous, 'cd'.repeat(16))

    expect(status).toBe(400)
    expect(textsOf(body['errors'])[0]).toMatch(/^unable to retrieve stored keys: invalid key:/)
  })

  test('reset and ten minutes without a share discard them', async () => {
    const clock = new FakeClock()
    await using server = await initialized(fiveThree, { clock })
    const { anonymous, keys } = server
    await unseal(anonymous, keys[0] ?? '')

    const reset = await anonymous.call('PUT', 'sys/unseal', { reset: true })
    expect(reset).toMatchObject({ status: 200, body: { sealed: true, progress: 0, nonce: '' } })

    await unseal(anonymous, keys[0] ?? '')
    clock.advance(600)
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ progress: 0, nonce: '' })
  })

  describe('refusals', () => {
    const openOne = shared(initialized)

    test.each([
      { body: {}, text: "'key' must be specified in request body as JSON, or 'reset' set to true" },
      { body: { key: 'x' }, text: "'key' must be a valid hex or base64 string" },
      { body: { key: 'abcd' }, text: 'invalid key: key is shorter than minimum 16 bytes' },
      { body: { key: 'ab'.repeat(34) }, text: 'invalid key: key is longer than maximum 33 bytes' },
      {
        body: { key: 1 },
        text: 'failed to parse JSON input: json: cannot unmarshal number into Go struct field UnsealRequest.key of type string',
      },
    ])('$body', async ({ body, text }) => {
      const { anonymous } = await openOne()

      expect(await anonymous.call('PUT', 'sys/unseal', body)).toMatchObject({
        status: 400,
        body: errors(text),
      })
    })
  })
})

describe('sealing', () => {
  test('needs a token with sudo, and the server opens again with its shares', async () => {
    await using server = await unsealed()
    const { anonymous, root, keys } = server
    expect(await anonymous.call('PUT', 'sys/unseal', { reset: true })).toMatchObject({
      status: 400,
      body: errors('vault is unsealed'),
    })

    expect(await anonymous.call('PUT', 'sys/seal')).toMatchObject({ status: 403, body: notAccepted })
    expect(await anonymous.read('sys/health')).toMatchObject({ status: 200 })
    expect(await root.call('PUT', 'sys/seal')).toMatchObject({ status: 204 })

    expect(await anonymous.read('sys/health')).toMatchObject({ status: 503 })
    for (const key of keys.slice(1, 4)) await unseal(anonymous, key)
    expect(await root.read('auth/token/lookup-self')).toMatchObject({ status: 200 })
  })

  test('takes the last use of a token, without an error in the log', async () => {
    const failures: string[] = []
    const log = pino({ level: 'error' }, { write: (line) => failures.push(line) })
    await using server = await unsealed(fiveThree, { log })
    const policy = 'path "sys/seal" { capabilities = ["update", "sudo"] }'
    await server.root.write('sys/policies/acl/seals', { policy })
    const { body } = await server.root.write('auth/token/create', { policies: ['seals'], num_uses: 1 })
    const once = server.as(String(body['auth']?.['client_token']))

    expect(await once.call('PUT', 'sys/seal')).toMatchObject({ status: 204 })
    for (const key of server.keys.slice(0, 3)) await unseal(server.anonymous, key)

    expect(await once.call('PUT', 'sys/seal')).toMatchObject({ status: 403, body: invalidToken })
    expect(failures).toEqual([])
  })
})

describe('rekey', () => {
  const path = (name: string) => `sys/rekey/${name}`

  test('gives new shares, and the old ones open nothing', async () => {
    await using folder = await temporaryFolder()
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    await using server = await unsealed(fiveThree, {
      settings: { STORAGE: `sqlite:${folder.file('gatehouse.db')}` },
      log,
    })
    const { root, anonymous, keys } = server
    const begun = await root.call('PUT', path('init'), { secret_shares: 3, secret_threshold: 2 })
    expect(begun.body).toMatchObject({ started: true, t: 2, n: 3, progress: 0, required: 3 })

    const { body } = await offer(root, path('update'), begun.body['nonce'], keys.slice(0, 3))

    expect(body).toMatchObject({ complete: true, nonce: begun.body['nonce'], backup: false })
    const fresh = textsOf(body['keys'])
    expect(fresh).toEqual(Array(3).fill(expect.stringMatching(/^[0-9a-f]{66}$/)))
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ t: 2, n: 3, sealed: false })
    expect(lines.filter((line) => line.includes('"event":"key_rotated"'))).toHaveLength(1)
    await root.call('PUT', 'sys/seal')
    const before = [await unseal(anonymous, keys[0] ?? ''), await unseal(anonymous, keys[1] ?? '')]
    expect(before.map(({ status }) => status)).toEqual([200, 400])
    for (const key of fresh.slice(1)) await unseal(anonymous, key)
    expect(await root.read('auth/token/lookup-self')).toMatchObject({ status: 200 })
  })

  test('on a full disk, the old shares stay in force, and the rekey can go on', async () => {
    const faults = new StorageFaults()
    await using server = await unsealed(fiveThree, { faults })
    const { root, anonymous, keys } = server
    const { nonce } = (await root.call('PUT', path('init'), { secret_shares: 1, secret_threshold: 1 })).body
    faults.arm('storage.before-commit', 'full')

    expect(await offer(root, path('update'), nonce, keys.slice(0, 3))).toMatchObject({ status: 503 })

    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ t: 3, n: 5 })
    const { body } = await offer(root, path('update'), nonce, keys.slice(0, 3))
    await root.call('PUT', 'sys/seal')
    expect((await unseal(anonymous, textsOf(body['keys'])[0] ?? '')).body).toMatchObject({ sealed: false })
  })

  test('with verification, a cancelled rekey leaves the old shares in force', async () => {
    await using server = await unsealed()
    const { root, anonymous, keys } = server
    const plan = { secret_shares: 1, secret_threshold: 1, require_verification: true }
    const begun = await root.call('PUT', path('init'), plan)
    const made = await offer(root, path('update'), begun.body['nonce'], keys.slice(0, 3))
    expect(made.body).toMatchObject({ complete: true, verification_required: true })

    expect(await root.delete(path('init'))).toMatchObject({ status: 204 })

    expect(
      await offer(root, path('verify'), made.body['verification_nonce'], textsOf(made.body['keys'])),
    ).toMatchObject({ status: 400, body: errors('no rekey in progress') })
    await root.call('PUT', 'sys/seal')
    for (const key of keys.slice(0, 3)) await unseal(anonymous, key)
    expect((await anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: false, t: 3, n: 5 })
  })

  test('a verified key, and the backup of its shares, take effect together', async () => {
    const holder = await aPgpHolder()
    await using server = await unsealed()
    const { root, anonymous, keys } = server
    const plan = {
      secret_shares: 1,
      secret_threshold: 1,
      pgp_keys: [holder.text],
      backup: true,
      require_verification: true,
    }
    const begun = await root.call('PUT', path('init'), plan)
    const made = await offer(root, path('update'), begun.body['nonce'], keys.slice(0, 3))
    const share = await openedBy(holder.privateKey, textsOf(made.body['keys_base64'])[0] ?? '')
    expect(await root.read(path('backup'))).toMatchObject({ body: errors('no backed-up keys found') })

    const verified = await offer(root, path('verify'), made.body['verification_nonce'], [share])

    expect(verified.body).toMatchObject({ complete: true })
    expect((await root.read(path('backup'))).body['data']).toMatchObject({
      keys: { [holder.fingerprint]: textsOf(made.body['keys']) },
    })
    await root.call('PUT', 'sys/seal')
    expect((await unseal(anonymous, share)).body).toMatchObject({ sealed: false, t: 1, n: 1 })
  })

  test('data is readable after a rotation, a rekey and a restart', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('gatehouse.db')}` }
    let fresh: string[]
    let token: string
    {
      await using server = await unsealed(fiveThree, { settings })
      token = server.token
      await server.root.call('PUT', 'sys/rotate')
      const { nonce } = (
        await server.root.call('PUT', path('init'), { secret_shares: 2, secret_threshold: 2 })
      ).body
      fresh = textsOf((await offer(server.root, path('update'), nonce, server.keys.slice(2))).body['keys'])
      await server.root.call('PUT', 'sys/rotate')
    }

    await using server = await startTestServer({ ...shamir, settings: { ...shamir.settings, ...settings } })
    for (const key of fresh) await unseal(server.anonymous, key)

    expect((await server.as(token).read('sys/key-status')).body['data']).toMatchObject({ term: 3 })
  })

  test('recovery keys do not exist with this seal', async () => {
    await using server = await unsealed()

    for (const [method, name] of [
      ['GET', 'init'],
      ['PUT', 'init'],
      ['PUT', 'update'],
      ['GET', 'verify'],
      ['GET', 'backup'],
    ] as const)
      expect(
        await server.root.call(method, `sys/rekey-recovery-key/${name}`, { key: 'ab'.repeat(33) }),
      ).toMatchObject({ status: 400, body: errors('recovery rekeying not supported') })
  })
})

test('the holders of unseal keys generate a root token', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  await using server = await unsealed(fiveThree, { log })
  const { root, keys } = server
  const { nonce, otp } = (await root.call('PUT', 'sys/generate-root/attempt')).body

  const { body } = await offer(root, 'sys/generate-root/update', nonce, keys.slice(1, 4))

  const token = unhidden(body['encoded_token'], otp)
  expect((await server.as(token).read('auth/token/lookup-self')).body['data']).toMatchObject({
    policies: ['root'],
  })
  expect(lines.filter((line) => line.includes('"event":"root_token_made"'))).toHaveLength(1)
})

describe('a static seal that waits for sys/init', () => {
  const waiting = { dev: false, settings: { AUTO_INIT: 'false' } }

  test('returns recovery keys instead of unseal keys, and opens itself', async () => {
    await using server = await startTestServer(waiting)

    const { status, body } = await init(server.anonymous, { recovery_shares: 5, recovery_threshold: 3 })

    expect(status).toBe(200)
    expect(body).toMatchObject({ keys: [], keys_base64: [] })
    const keys = textsOf(body['recovery_keys'])
    expect(keys).toEqual(Array(5).fill(expect.stringMatching(/^[0-9a-f]{66}$/)))
    expect(textsOf(body['recovery_keys_base64'])).toHaveLength(5)
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({
      type: 'static',
      sealed: false,
      recovery_seal: true,
      t: 3,
      n: 5,
    })
    const root = server.as(String(body['root_token']))
    const { nonce, otp } = (await root.call('PUT', 'sys/generate-root/attempt')).body
    const made = await offer(root, 'sys/generate-root/update', nonce, keys.slice(0, 3))
    const token = unhidden(made.body['encoded_token'], otp)
    expect(await server.as(token).read('sys/mounts')).toMatchObject({ status: 200 })
  })

  test('a store that cannot be opened yet is initialized, and unsealed later', async () => {
    await using folder = await temporaryFolder()
    const file_path = folder.file('audit/audit.log')
    const key = randomBytes(32).toString('hex')
    const settings = {
      ...waiting.settings,
      STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
      SEAL_KEY: key,
      AUDIT: JSON.stringify([{ path: 'file', type: 'file', options: { file_path } }]),
      AUDIT_DIRS: folder.file('audit'),
    }
    await mkdir(file_path, { recursive: true })
    await using server = await startTestServer({ ...waiting, settings })

    const { status, body } = await init(server.anonymous, { recovery_shares: 1, recovery_threshold: 1 })

    expect(status).toBe(200)
    expect(textsOf(body['recovery_keys'])).toHaveLength(1)
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: true, n: 1 })
    await rmdir(file_path)
    expect(await unseal(server.anonymous, key)).toMatchObject({ status: 200, body: { sealed: false } })
    const root = server.as(String(body['root_token']))
    expect(await root.read('sys/mounts')).toMatchObject({ status: 200 })
  })

  test('recovery keys are optional', async () => {
    await using server = await startTestServer(waiting)

    const { status, body } = await init(server.anonymous, {})

    expect(status).toBe(200)
    expect(body).toEqual({ keys: [], keys_base64: [], root_token: expect.stringMatching(/^hvs\./) })
    expect((await server.anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: false, t: 0, n: 0 })
  })

  test.each([
    {
      body: { secret_shares: 1, secret_threshold: 1, pgp_keys: ['x'] },
      text: 'parameters secret_shares,secret_threshold,pgp_keys not applicable to seal type static',
    },
    { body: { recovery_shares: 1 }, text: 'invalid recovery configuration: threshold must be at least one' },
  ])('$body is refused', async ({ body, text }) => {
    await using server = await startTestServer(waiting)

    expect(await init(server.anonymous, body)).toMatchObject({ status: 400, body: errors(text) })
  })
})
