import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import { sumOf } from '../../src/storage/record-digest.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import type { Answer, Client } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/*
 * Every write of the API, with a fault at each of its statements in turn: the answer says what is wrong,
 * nothing of the failed commit is stored, no copy in memory differs from the file, and the next call works.
 */

const signer = aSigner()
const policy = { policy: 'path "x" { capabilities = ["read"] }' }
const key = 'ab'.repeat(32)
type Call = {
  readonly name: string
  /** Prepares one run, and returns what `run` needs, such as a token. */
  prepare?(root: Client, round: number): Promise<string>
  run(root: Client, round: number, prepared: string): Promise<Answer>
  /** What the API shows of it. */
  see(root: Client): Promise<Answer>
  /** The status of a refusal, 503 by default. */
  readonly status?: number
  /** Several commits: a failure between them leaves work that a further call completes. */
  inSteps?: true
}

const login = (sub: string) => ({
  role: 'ci',
  jwt: signer.sign({ sub, aud: 'ci', exp: 4_000_000_000, iat: 1 }),
})
const newToken = async (root: Client, num_uses = 0): Promise<string> =>
  String((await root.write('auth/token/create', { ttl: '1h', num_uses })).body.auth?.client_token)
const accessors = (root: Client) => root.list('auth/token/accessors')

const calls: Call[] = [
  { name: 'a login', run: (root) => root.write('auth/jwt/login', login('alice')), see: accessors },
  {
    name: 'a first login',
    run: (root, round) => root.write('auth/jwt/login', login(`new-${round}`)),
    see: (root) => root.list('identity/entity/id'),
  },
  {
    name: 'a write of a role',
    run: (root, round) =>
      root.write('auth/jwt/role/other', {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_audiences: [`${round}`],
      }),
    see: (root) => root.read('auth/jwt/role/other'),
  },
  {
    name: 'a write of the keys of a mount',
    run: (root, round) =>
      root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem], default_role: `r${round}` }),
    see: (root) => root.read('auth/jwt/config'),
  },
  {
    name: 'a write of a policy',
    run: (root, round) => root.write('sys/policies/acl/one', { policy: `# ${round}\n${policy.policy}` }),
    see: (root) => root.read('sys/policies/acl/one'),
  },
  { name: 'a new token', run: (root) => root.write('auth/token/create', { ttl: '1h' }), see: accessors },
  {
    name: 'the renewal of a token',
    prepare: (root) => newToken(root),
    run: (root, _round, token) => root.write('auth/token/renew', { token }),
    see: accessors,
  },
  {
    name: 'the revocation of a token',
    prepare: (root) => newToken(root),
    run: (root, _round, token) => root.write('auth/token/revoke', { token }),
    see: accessors,
    inSteps: true,
  },
  {
    name: 'a new mount',
    run: (root, round) => root.write(`sys/auth/mount-${round}`, { type: 'jwt' }),
    see: (root) => root.read('sys/auth'),
  },
  {
    name: 'the tuning of a mount',
    run: (root, round) => root.write('sys/auth/jwt/tune', { description: `${round}` }),
    see: (root) => root.read('sys/auth/jwt/tune'),
  },
  {
    name: 'the removal of a mount',
    prepare: async (root, round) => {
      await root.write(`sys/auth/gone-${round}`, { type: 'jwt' })
      return `sys/auth/gone-${round}`
    },
    run: (root, _round, path) => root.delete(path),
    see: (root) => root.read('sys/auth'),
    inSteps: true,
  },
  {
    name: 'a wrapped response',
    run: (root) => root.write('sys/wrapping/wrap', { a: 1 }, { headers: { 'X-Vault-Wrap-TTL': '1h' } }),
    see: accessors,
  },
  {
    name: 'a use of a token with a use count',
    prepare: (root) => newToken(root, 9),
    run: (root, _round, token) => root.with(token).write('cubbyhole/counted', { a: 1 }),
    see: accessors,
    inSteps: true,
  },
  {
    name: 'a new data key',
    run: (root) => root.write('sys/rotate'),
    see: (root) => root.read('sys/rotate/config'),
    inSteps: true,
  },
  {
    name: 'an entity',
    run: (root, round) => root.write(`identity/entity/name/entity-${round}`, { metadata: { a: 'b' } }),
    see: (root) => root.list('identity/entity/name'),
  },
  {
    name: 'a group',
    run: (root, round) => root.write('identity/group', { name: `group-${round}`, policies: ['one'] }),
    see: (root) => root.list('identity/group/name'),
  },
  {
    name: 'a message',
    run: (root, round) =>
      root.write('sys/config/ui/custom-messages', {
        title: `t${round}`,
        message: 'aGVsbG8=',
        authenticated: false,
        start_time: '2026-01-01T00:00:00Z',
      }),
    see: (root) => root.read('sys/internal/ui/unauthenticated-messages'),
    // as of any failure of a message
    status: 400,
  },
  {
    name: 'a namespace',
    run: (root, round) => root.write(`sys/namespaces/team-${round}`),
    see: (root) => root.list('sys/namespaces'),
    inSteps: true,
  },
  {
    name: 'a change of the CORS settings',
    run: (root, round) =>
      root.write('sys/config/cors', { allowed_origins: [`https://a${round}.example.com`] }),
    see: (root) => root.read('sys/config/cors'),
  },
]

type Failure = 'io' | 'full' | 'read-only'
const textOf: Record<Failure, string> = {
  io: 'storage is unavailable',
  full: 'storage is full',
  'read-only': 'storage is read-only',
}

/** The part of an answer that does not differ from call to call. */
const shown = ({ status, body }: Answer): unknown => [status, body?.['data'] ?? body?.['keys'] ?? null]

describe('with a fault at each statement', () => {
  const opened = new AsyncDisposableStack()
  const faults = new StorageFaults()
  let server: TestServer
  let file: string
  let copy: string
  /** As the store was before the calls. */
  let early: string
  let round = 0

  const settingsOf = (path: string) => ({ STORAGE: `sqlite:${path}`, SEAL_KEY: key, BACKGROUND: 'off' })
  beforeAll(async () => {
    const folder = opened.use(await temporaryFolder())
    file = folder.file('gatehouse.db')
    copy = folder.file('copy.db')
    early = folder.file('early.db')
    server = opened.use(await startTestServer({ settings: settingsOf(file), faults }))
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['ci'] }
    await server.root.write('auth/jwt/role/ci', role)
    await server.root.write('auth/jwt/login', login('alice'))
    await server.root.write('auth/jwt/role/other', role)
    await server.root.write('sys/policies/acl/one', policy)
    await copyTo(early)
  })
  afterAll(() => opened.disposeAsync())

  const copyTo = async (target: string) => {
    for (const end of ['', '-wal']) if (existsSync(file + end)) await copyFile(file + end, target + end)
  }

  const digest = (): string => {
    const connection = new Database(file, { readonly: true })
    try {
      return sumOf(connection).digest
    } finally {
      connection.close()
    }
  }

  /** Runs a call with a fault at one statement; false if it has fewer statements. */
  const fails = async (
    { prepare, run, see, inSteps, status = 503 }: Call,
    failure: Failure,
    statement: number,
  ) => {
    round += 1
    const prepared = (await prepare?.(server.root, round)) ?? ''
    const before = [shown(await see(server.root)), digest()]
    faults.arm('storage.statement', failure, statement)

    const answer = await run(server.root, round, prepared)

    if (faults.disarm('storage.statement')) {
      expect(answer.status).toBeLessThan(300)
      return false
    }
    const texts = [expect.stringContaining(textOf[failure])]
    expect([answer.status, answer.body['errors']]).toEqual([status, texts])
    if (inSteps !== true) expect([shown(await see(server.root)), digest()]).toEqual(before)
    else expect((await run(server.root, round, prepared)).status).not.toBe(503)
    return true
  }

  test.each(calls)('$name is stored whole or not at all', async (call) => {
    let statements = 0
    while (await fails(call, 'io', statements)) statements += 1

    expect(statements).toBeGreaterThanOrEqual(2)
    expect(await fails(call, 'full', 1)).toBe(true)
    expect(await fails(call, 'read-only', statements - 1)).toBe(true)
    expect((await server.root.write('cubbyhole/next', { a: 1 })).status).toBe(204)
  })

  test('what the server shows then is what the file holds', async () => {
    await copyTo(copy)
    await using other = await startTestServer({ settings: settingsOf(copy) })

    for (const { see } of calls) expect(shown(await see(server.root))).toEqual(shown(await see(other.root)))
  })

  test.each([
    { name: 'a login', run: (root: Client) => root.write('auth/jwt/login', login('alice')) },
    { name: 'a read of a role', run: (root: Client) => root.read('auth/jwt/role/ci') },
    { name: 'a read of a policy', run: (root: Client) => root.read('sys/policies/acl/one') },
    { name: 'a list', run: (root: Client) => root.list('sys/policies/acl') },
  ])('$name with a fault at each read gets 503, and nothing is taken for absent', async ({ run }) => {
    await using cold = await startTestServer({ settings: settingsOf(copy), faults })
    let refused = 0
    for (let more = true; more; ) {
      faults.arm('storage.read', 'io', refused)
      const answer = await run(cold.root)
      more = !faults.disarm('storage.read')
      if (more) expect([answer.status, answer.body['errors']]).toEqual([503, ['storage is unavailable']])
      else expect(answer.status).toBe(200)
      if (more) refused += 1
    }
    expect(refused).toBeGreaterThan(0)
  })

  test('an unsealing with a fault at each read or write fails clearly or works, and the next one gets further', async () => {
    await using sealed = await startTestServer({ settings: settingsOf(early), faults })
    const isSealed = async () => (await sealed.anonymous.read('sys/seal-status')).body['sealed']
    const seen: number[] = []
    for (const point of ['storage.read', 'storage.statement'] as const) {
      for (let passed = 0, more = true; more; passed++) {
        if (!(await isSealed())) await sealed.root.write('sys/seal')
        faults.arm(point, 'io', passed)
        const answer = await sealed.anonymous.write('sys/unseal', { key })
        more = !faults.disarm(point)
        const outcome = [answer.status, answer.body['errors'], await isSealed()]
        if (answer.status === 200) expect(outcome).toEqual([200, undefined, false])
        else expect(outcome).toEqual([503, ['storage is unavailable'], true])
        seen.push(answer.status)
      }
      // the last one had no fault
      expect(await isSealed()).toBe(false)
    }
    expect(new Set(seen)).toEqual(new Set([200, 503]))
  })
})
