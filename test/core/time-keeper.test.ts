import { Writable } from 'node:stream'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { MachineClock } from '../../src/lib/system/clock.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const hour = 3600_000

/** A machine whose clock a test sets, and the log of the server on it. */
function aMachine(begin = Date.now()) {
  let passed = 0
  let set = begin
  const steps: Record<string, unknown>[] = []
  const waiting: (() => void)[] = []
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      const entry = JSON.parse(line.toString()) as Record<string, unknown>
      if (entry['event'] === 'clock_step') {
        steps.push(entry)
        for (const tell of waiting.splice(0)) tell()
      }
      done()
    },
  })
  const machine = { wall: () => set + passed, steady: () => passed }
  return {
    clock: new MachineClock(machine),
    log: pino(stream),
    steps,
    now: machine.wall,
    pass: (ms: number) => {
      passed += ms
    },
    set: (ms: number) => {
      set += ms
      passed += 200
    },
    /** Resolves when so many steps were told. */
    told: async (count: number) => {
      while (steps.length < count) await new Promise<void>((tell) => waiting.push(tell))
    },
  }
}

const created = async (server: TestServer, fields: object) =>
  String((await server.root.write('auth/token/create', fields)).body.auth?.client_token)
const statusOf = async (server: TestServer, token: string) =>
  (await server.as(token).read('auth/token/lookup-self')).status

describe('the clock of the machine is set back by an hour', () => {
  test.each(['service', 'batch'])(
    'a %s token that had expired stays expired, and a new one lives',
    async (type) => {
      const machine = aMachine()
      await using server = await startTestServer({ clock: machine.clock, log: machine.log })
      const old = await created(server, { type, ttl: '60s', policies: ['default'] })
      const long = await created(server, { type, ttl: '2h', policies: ['default'] })
      machine.pass(61_000)
      expect([await statusOf(server, old), await statusOf(server, long)]).toEqual([403, 200])

      machine.set(-hour)
      await server.root.read('sys/health')
      await statusOf(server, long)
      await machine.told(1)
      const fresh = await created(server, { type, ttl: '60s', policies: ['default'] })

      expect([
        await statusOf(server, old),
        await statusOf(server, long),
        await statusOf(server, fresh),
      ]).toEqual([403, 200, 200])
      expect(machine.steps).toEqual([
        expect.objectContaining({ direction: 'back', msg: 'the clock of this machine was set back' }),
      ])
      expect((await server.root.read('/metrics')).text).toMatch(
        /^gatehouse_clock_steps_total\{direction="back"\} 1$/m,
      )
      machine.pass(61_000)
      expect(await statusOf(server, fresh)).toBe(403)
    },
  )

  test('a wrapped response that had expired stays expired', async () => {
    const machine = aMachine()
    await using server = await startTestServer({ clock: machine.clock, log: machine.log })
    const wrapped = await server.root.read('sys/mounts', { headers: { 'X-Vault-Wrap-TTL': '60' } })
    machine.pass(61_000)
    machine.set(-hour)
    await statusOf(server, 'root')
    await machine.told(1)

    expect(
      (await server.root.write('sys/wrapping/unwrap', { token: String(wrapped.body.wrap_info?.token) }))
        .status,
    ).toBe(400)
  })

  test('a lease that had ended is not renewed', async () => {
    const machine = aMachine()
    const practice = practiceType({ roles: new Map([['brief', { ttl: 60, maxTtl: 0, renewable: true }]]) })
    await using server = await startTestServer({
      clock: machine.clock,
      log: machine.log,
      plugins: [practice],
    })
    await server.root.write('sys/mounts/practice', { type: 'practice' })
    const { lease_id } = (await server.root.read('practice/creds/brief')).body
    machine.pass(61_000)
    machine.set(-hour)
    await statusOf(server, 'root')
    await machine.told(1)

    expect((await server.root.write('sys/leases/renew', { lease_id })).status).toBe(400)
  })

  test('a JWT that may log in once does not log in again, but a newly issued one does', async () => {
    const machine = aMachine()
    await using server = await startTestServer({ clock: machine.clock, log: machine.log })
    const signer = aSigner('ES256')
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a', token_replay_protection: true }
    expect((await server.root.write('auth/jwt/role/once', role)).status).toBeLessThan(300)
    const jwtOf = (id: string) => {
      const seconds = Math.floor(machine.now() / 1000)
      return signer.sign({ sub: 'x', aud: 'a', jti: id, iat: seconds, exp: seconds + 600 })
    }
    const login = async (jwt: string) =>
      (await server.anonymous.write('auth/jwt/login', { role: 'once', jwt })).status
    const used = jwtOf('used')
    const first = await login(used)
    machine.pass(30 * 60_000)
    machine.set(-30 * 60_000)
    await statusOf(server, 'root')
    await machine.told(1)
    const second = await login(used)
    machine.pass(2000)

    expect([first, second, await login(jwtOf('fresh'))]).toEqual([200, 400, 200])
  })
})

test('a step back of 5 minutes is absorbed: nothing lives longer, and nothing is logged', async () => {
  const machine = aMachine()
  await using server = await startTestServer({ clock: machine.clock, log: machine.log })
  const token = await created(server, { ttl: '60s', policies: ['default'] })
  machine.pass(30_000)
  expect(await statusOf(server, token)).toBe(200)

  machine.set(-5 * 60_000 + 1000)
  expect(await statusOf(server, token)).toBe(200)
  machine.pass(61_000)

  expect(await statusOf(server, token)).toBe(403)
  expect(machine.steps).toEqual([])
})

test('a clock that was set back while no server ran revives nothing', async () => {
  await using folder = await temporaryFolder()
  const settings = { STORAGE: `sqlite:${folder.file('dev.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }
  const before = aMachine()
  const after = aMachine(before.now() + 200)
  let old = ''
  let batch = ''
  {
    await using server = await startTestServer({ clock: before.clock, log: before.log, settings })
    old = await created(server, { ttl: '60s', policies: ['default'] })
    batch = await created(server, { ttl: '60s', type: 'batch', policies: ['default'] })
    before.set(hour)
    await statusOf(server, 'root')
    await before.told(1)
  }

  await using server = await startTestServer({ clock: after.clock, log: after.log, settings })
  const fresh = await created(server, { ttl: '60s', policies: ['default'] })

  expect(before.steps).toEqual([expect.objectContaining({ direction: 'forward' })])
  expect(after.steps).toEqual([expect.objectContaining({ direction: 'back' })])
  expect([await statusOf(server, old), await statusOf(server, batch), await statusOf(server, fresh)]).toEqual(
    [403, 403, 200],
  )
})

test('what had expired when a server was stopped stays expired if the clock is set back before the next start', async () => {
  await using folder = await temporaryFolder()
  const settings = {
    STORAGE: `sqlite:${folder.file('dev.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
    BACKGROUND: 'off',
  }
  const before = aMachine()
  let old = ''
  {
    await using server = await startTestServer({ clock: before.clock, log: before.log, settings })
    old = await created(server, { ttl: '3s', type: 'batch', policies: ['default'] })
    before.pass(4_000)
  }
  const after = aMachine(before.now() - hour)
  await using server = await startTestServer({ clock: after.clock, log: after.log, settings })

  expect(await statusOf(server, old)).toBe(403)
})
