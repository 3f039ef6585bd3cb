import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checksOf, listed } from '../plugins/jwt-auth/explain/checks.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import type { Json } from '../support/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { many, rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const runs = many(50, 100) * rounds
const signer = aSigner('ES256')
const stranger = aSigner('ES256')
const lines: Record<string, unknown>[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })

const now = Math.floor(Date.now() / 1000)

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ log, clock: new FakeClock(now * 1000) })
  const { root } = server
  await root.write('sys/auth/jwt/tune', { default_lease_ttl: '1h', max_lease_ttl: '2h' })
  const group = await root.write('identity/group', { name: 'admins', type: 'external', policies: ['admin'] })
  const accessor = (await root.read('sys/auth')).body['data']?.['jwt/']?.['accessor']
  await root.write('identity/group-alias', {
    name: 'ops',
    mount_accessor: accessor,
    canonical_id: group.body['data']?.['id'],
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const rarely = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd })
const of = <T>(...values: T[]) => fc.constantFrom(...values)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const scalar = of<unknown>('a', 'A', 'b', ' a', 'a/', 1, 1.5, true, null, '1', 'true', '*', '')
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), of<unknown>({}, { x: 'a' }))

const config = fc.record({
  bound_issuer: rarely(of('', 'https://ci'), of('https://ci/')),
  jwt_supported_algs: rarely(of<string[]>([]), of(['RS256'])),
})

const role = fc.record(
  {
    role_type: rarely(of('jwt'), of('oidc')),
    user_claim: rarely(of('sub'), of('uid', '/deep/name', 'list')),
    user_claim_json_pointer: rarely(of(false), of(true)),
    bound_audiences: rarely(of(['gate']), of<string[]>([], ['Gate', 'x'])),
    bound_subject: rarely(of(''), of('alice', 'Alice')),
    bound_claims_type: rarely(of('string'), of('glob')),
    bound_claims: rarely(
      of<unknown>({ c: 'a' }),
      fc.dictionary(of('c', 'd', '/deep/name', 'list', 'groups'), value, { maxKeys: 3 }),
    ),
    claim_mappings: rarely(
      of<unknown>({}),
      of<unknown>({ c: 'color' }, { list: 'l' }, { '/deep/name': 'n', missing: 'm' }),
    ),
    groups_claim: rarely(of('groups', ''), of('uid', 'missing', '/deep')),
    token_bound_cidrs: rarely(of<string[]>([], ['127.0.0.0/8']), of(['10.0.0.0/8'])),
    token_policies: rarely(of<string[]>(['dev'], []), of(['root'], ['response-wrapping'])),
    token_no_default_policy: of(false, true),
    token_ttl: of(0, 60, 100_000),
    token_max_ttl: of(0, 200_000),
    token_period: rarely(of(0), of(120)),
    token_explicit_max_ttl: of(0, 500),
    token_num_uses: rarely(of(0), of(3)),
    token_type: of('default', 'service', 'batch'),
    token_replay_protection: rarely(of(false), of(true)),
    clock_skew_leeway: of(0, -1),
    expiration_leeway: of(0, -1),
  },
  { requiredKeys: ['role_type', 'user_claim', 'bound_audiences', 'bound_claims'] },
)

const claims = fc.record(
  {
    iss: rarely(of<unknown>('https://ci'), of<unknown>('https://CI', 5)),
    sub: rarely(of<unknown>('alice', 'bob'), of<unknown>('', ' ', 7)),
    aud: rarely(of<unknown>('gate', ['gate', 'x']), of<unknown>('GATE', [], '', null, [1])),
    iat: optional(of(now, now - 9000, now + 9000)),
    nbf: rarely(of<number | undefined>(undefined), of(now + 9000)),
    exp: rarely(of<unknown>(now + 60), of<unknown>(now - 9000, '5', undefined)),
    uid: of<unknown>(1000, 'u'),
    c: rarely(of<unknown>('a'), value),
    d: value,
    list: value,
    groups: rarely(of<unknown>(['ops', 'dev'], []), value),
    deep: of<unknown>({ name: 'n' }, { name: 5 }, []),
  },
  { requiredKeys: ['iss', 'sub', 'aud', 'exp', 'c'] },
)

const token = rarely(
  of<(given: object) => string>((given) => signer.sign(given)),
  of<(given: object) => string>(
    (given) => stranger.sign(given),
    () => '',
    () => 'no token',
    (given) => signer.sign(given, { alg: 'HS256' }),
    () => signer.sign('"text"'),
  ),
)

const asked = rarely(of('ci'), of('', 'nobody', 'CI'))

test(`what explain says is what the login does, ${runs} times`, async () => {
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(
      config,
      role,
      claims,
      token,
      asked,
      async (configured, written, claimed, signed, named) => {
        const { root, anonymous } = server
        await root.write('auth/jwt/config', { ...configured, jwt_validation_pubkeys: [signer.pem] })
        await root.delete('auth/jwt/role/ci')
        const role = await root.write('auth/jwt/role/ci', {
          ...written,
          allowed_redirect_uris: ['http://localhost/cb'],
        })
        // most refusals here are of invalid roles; the login then says that there is none
        const body = { role: named, jwt: signed(claimed) }
        lines.length = 0

        const explained = (await root.write('auth/jwt/explain', body)).body['data']
        const login = await anonymous.write('auth/jwt/login', body)
        const again = (await root.write('auth/jwt/explain', body)).body['data']

        expect({ status: explained?.['status'], error: explained?.['error'], written: role.status }).toEqual({
          status: login.status,
          error: login.status === 200 ? '' : login.body['errors']?.[0],
          written: role.status,
        })
        const [refused] = lines.filter(({ event }) => event === 'login_refused')
        expect(explained?.['reason']).toBe(refused?.['reason'] ?? '')
        const checks = checksOf(explained)
        const failed = checks.find(({ verdict }) => verdict === 'fail')
        expect(failed?.reason ?? '').toBe(explained?.['reason'])
        expect(failed?.name ?? '').toBe(refused?.['check'] ?? '')
        expect(explained?.['allowed']).toBe(login.status === 200)
        if (login.status !== 200) {
          expect(explained?.['login']).toBe(null)
          return
        }
        accepted += 1
        expect(checks.every(({ verdict }) => verdict === 'pass')).toBe(true)
        await sameLogin(explained?.['login'], login.body)
        if (written.token_replay_protection === true) {
          expect(again).toMatchObject({
            allowed: false,
            reason: 'token_replayed',
            error: 'error validating token: token has been used already',
          })
        } else {
          expect(again?.['login']?.['alias']?.['entity_id']).toBe(login.body['auth']?.['entity_id'])
        }
      },
    ),
    { numRuns: runs },
  )
  expect(accepted).toBeGreaterThan(runs / 40)
}, 120_000)

/** Looks up the token, for fields that the response to the login lacks. */
async function sameLogin(explained: Json | undefined, body: Json): Promise<void> {
  const auth = body['auth']
  const id = String(auth?.['client_token'])
  const looked = (await server.root.write('auth/token/lookup', { token: id })).body['data']
  const alias = explained?.['alias']
  expect({ ...explained, alias: undefined, groups: undefined }).toEqual({
    display_name: looked?.['display_name'],
    token_policies: auth?.['token_policies'] ?? [],
    identity_policies: auth?.['identity_policies'] ?? [],
    policies: auth?.['policies'],
    token_type: auth?.['token_type'],
    lease_duration: auth?.['lease_duration'],
    renewable: auth?.['renewable'],
    num_uses: auth?.['num_uses'],
    period: looked?.['period'] ?? 0,
    explicit_max_ttl: looked?.['explicit_max_ttl'],
    bound_cidrs: looked?.['bound_cidrs'] ?? [],
    warnings: body['warnings'] ?? [],
  })
  expect(alias?.['metadata']).toEqual(auth?.['metadata'])
  expect(['', auth?.['entity_id']]).toContain(alias?.['entity_id'])
  const isAdmin = listed<{ name: string }>(explained?.['groups']?.['matched']).some(
    ({ name }) => name === 'admins',
  )
  expect(isAdmin).toBe(listed(auth?.['identity_policies']).includes('admin'))
}

test('explain with claims agrees with explain with a token, except on the signature', async () => {
  let made = 0
  await fc.assert(
    fc.asyncProperty(config, role, claims, async (configured, written, drawn) => {
      const { root } = server
      // a token that an earlier login used up would be refused for that, and claims are not
      const claimed = { ...drawn, jti: `never-logged-in-${++made}` }
      await root.write('auth/jwt/config', {
        ...configured,
        jwt_supported_algs: [],
        jwt_validation_pubkeys: [signer.pem],
      })
      await root.delete('auth/jwt/role/ci')
      await root.write('auth/jwt/role/ci', { ...written, allowed_redirect_uris: ['http://localhost/cb'] })

      const byToken = (await root.write('auth/jwt/explain', { role: 'ci', jwt: signer.sign(claimed) })).body[
        'data'
      ]
      const byClaims = (await root.write('auth/jwt/explain', { role: 'ci', claims: claimed })).body['data']

      const unsigned = (data: Json | undefined) =>
        checksOf(data).filter(({ name }) => !['token', 'signature', 'algorithm', 'replay'].includes(name))
      expect(unsigned(byClaims)).toEqual(unsigned(byToken))
      expect(byClaims).toMatchObject({
        status: byToken?.['status'],
        error: byToken?.['error'],
        reason: byToken?.['reason'],
      })
      expect(byClaims?.['login']).toEqual(byToken?.['login'])
    }),
    { numRuns: 30 * rounds },
  )
}, 60_000)
