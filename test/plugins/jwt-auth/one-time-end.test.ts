import { expect, test } from 'vitest'
import { oneTimeProof } from '../../../src/plugins/jwt-auth/login/one-time.ts'
import { JwtMethod } from '../../../src/plugins/jwt-auth/method.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { openTestCore } from '../../support/open-core.ts'
import { quietLog } from '../../support/start-server.ts'
import { aSigner } from './signer.ts'

const signer = aSigner('ES256')
const start = 1_800_000_000

/** The method over a store in memory, with one mount. */
async function openMethod() {
  const core = await openTestCore({
    clock: new FakeClock(start * 1000),
    defaultMounts: [{ table: 'auth', path: 'jwt', type: 'jwt' }],
  })
  const { mounts, clock, spent } = core
  const method = new JwtMethod({
    ...core,
    maxJwtSize: 0,
    failuresKept: 0,
    keepsSignatures: true,
    log: quietLog,
    onFetch: () => {},
    onKeyAlert: () => {},
  })
  const mount = mounts.table.all().find(({ plugin }) => plugin === 'jwt')
  if (mount === undefined) throw new Error('there is no mount')
  await mounts.viewOf(mount).write([{ key: 'config', value: { jwt_validation_pubkeys: [signer.pem] } }])
  const role = (name: string, given: object = {}) =>
    mounts
      .viewOf(mount)
      .write([
        {
          key: `role/${name}`,
          value: {
            role_type: 'jwt',
            user_claim: 'sub',
            bound_subject: 'alice',
            token_replay_protection: true,
            ...given,
          },
        },
      ])
  const breakRole = (name: string) => mounts.viewOf(mount).write([{ key: `role/${name}`, value: 'broken' }])
  const login = (jwt: string, name = 'r') =>
    method.login(mount, '127.0.0.1', { role: name, jwt, distributed_claim_access_token: '' })
  const spend = async (jwt: string) => {
    const { proof } = await login(jwt)
    if (proof === undefined) throw new Error('nothing to spend')
    await core.view.write(spent.entriesOf(mount.uuid, proof))
    return proof
  }
  return {
    clock,
    method,
    mount,
    spent,
    role,
    breakRole,
    login,
    spend,
    [Symbol.asyncDispose]: () => core[Symbol.asyncDispose](),
  }
}

test.each([
  {
    name: 'exp, defaults',
    claims: { exp: start + 600 },
    role: { not_before_leeway: 900 },
    tolerance: 210,
    end: start + 600,
  },
  { name: 'iat only', claims: { iat: start - 10 }, role: {}, tolerance: 210, end: start - 10 },
  {
    name: 'iat and a later nbf',
    claims: { iat: start - 10, nbf: start - 5 },
    role: {},
    tolerance: 210,
    end: start - 5,
  },
  {
    name: 'own leeways',
    claims: { exp: start + 5 },
    role: { expiration_leeway: 1000, clock_skew_leeway: 300, not_before_leeway: 900 },
    tolerance: 1300,
    end: start + 5,
  },
  {
    name: 'none',
    claims: { exp: start + 5 },
    role: { expiration_leeway: -1, clock_skew_leeway: -1, not_before_leeway: 900 },
    tolerance: 0,
    end: start + 5,
  },
])(
  'a used token is remembered until it cannot be accepted any more, plus a minute: $name',
  async ({ claims, role, tolerance, end }) => {
    await using fixture = await openMethod()
    await fixture.role('r', role)
    const jwt = signer.sign({ sub: 'alice', jti: 'a', ...claims })
    const proof = await fixture.spend(jwt)
    const isKept = async () => {
      await fixture.method.sweep()
      return fixture.spent.isSpent(fixture.mount.uuid, proof)
    }

    expect(proof.endsAt).toBe(end * 1000)
    fixture.clock.advance(end + tolerance - start)
    await expect(fixture.login(jwt)).resolves.toBeDefined()
    fixture.clock.advance(1)
    await expect(fixture.login(jwt)).rejects.toThrow('token is expired')
    fixture.clock.advance(59)
    expect(await isKept()).toBe(true)
    // even without leeways, the default ones still apply
    fixture.clock.advance(tolerance === 0 ? 211 : 1)
    expect(await isKept()).toBe(false)
  },
)

test('the role with the greatest leeways on the mount decides', async () => {
  await using fixture = await openMethod()
  await fixture.role('r')
  await fixture.role('patient', { expiration_leeway: 3600 })
  const jwt = signer.sign({ sub: 'alice', jti: 'a', exp: start, iat: start - 10 })
  const proof = await fixture.spend(jwt)

  fixture.clock.advance(3660)
  await fixture.method.sweep()
  await expect(fixture.login(jwt, 'patient')).resolves.toMatchObject({ proof })
  expect(await fixture.spent.isSpent(fixture.mount.uuid, proof)).toBe(true)
  fixture.clock.advance(61)
  await fixture.method.sweep()
  expect(await fixture.spent.isSpent(fixture.mount.uuid, proof)).toBe(false)
})

test('if a role cannot be read, used tokens are remembered for a day, and no longer', async () => {
  await using fixture = await openMethod()
  await fixture.role('r')
  const proof = await fixture.spend(signer.sign({ sub: 'alice', jti: 'a', exp: start, iat: start - 10 }))
  await fixture.breakRole('other')

  fixture.clock.advance(86_400)
  await fixture.method.sweep()
  expect(await fixture.spent.isSpent(fixture.mount.uuid, proof)).toBe(true)
  fixture.clock.advance(61)
  await fixture.method.sweep()
  expect(await fixture.spent.isSpent(fixture.mount.uuid, proof)).toBe(false)
})

test('claims without a token have a proof only if they have an id', () => {
  const claims = { iss: 'i', exp: 5 }
  const signedText = 'a.b'

  expect(oneTimeProof({ claims, algorithm: '' })).toBeUndefined()
  expect(oneTimeProof({ claims: { ...claims, jti: 'j' }, algorithm: '' })).toEqual({
    of: 'i\0j',
    endsAt: 5000,
  })
  expect(oneTimeProof({ claims: { jti: 'j', iat: 3n, nbf: 2.9 }, algorithm: '', signedText })).toEqual({
    of: '\0j',
    endsAt: 3000,
    issuedAt: 3000,
  })
  expect(oneTimeProof({ claims, algorithm: '', signedText })?.of).toMatch(/^[0-9a-f]{64}$/)
})
