import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { reportOf } from '../plugins/jwt-auth/what-if/report.ts'
import type { Answer } from '../support/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { many, rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const runs = many(40, 100) * rounds
const signer = aSigner('ES256')
const now = Math.floor(Date.now() / 1000)

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ clock: new FakeClock(now * 1000) })
})
afterAll(() => server[Symbol.asyncDispose]())

const of = <T>(...values: T[]) => fc.constantFrom(...values)
const usually = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: odd })
const scalar = of<unknown>('a', 'A', 'b', 'ab', 1, 1.5, 2, true, false, null, '1', '*', 'a*', '')
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), of<unknown>({}, { x: 'a' }))
const bound = fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 }), of<unknown>(['a*'], ['*b']))

const role = fc.record(
  {
    role_type: usually(of('jwt'), of('oidc')),
    user_claim: usually(of('sub'), of('c', 'd', '/deep/name', 'list')),
    user_claim_json_pointer: of(false, true),
    bound_audiences: usually(of(['gate'], ['x', 'gate']), of<string[]>([], ['x'])),
    bound_subject: usually(of(''), of('alice', 'bob')),
    bound_claims_type: of('string', 'glob'),
    bound_claims: usually(
      of<unknown>({}, { c: 'a' }, { c: ['a', 'b'] }),
      fc.dictionary(of('c', 'd', '/deep/name', 'list', 'groups', 'missing'), bound, { maxKeys: 3 }),
    ),
    claim_mappings: usually(of<unknown>({}), of<unknown>({ c: 'color' }, { list: 'l', d: 'd' })),
    claim_mappings_text_only: of(false, true),
    groups_claim: usually(of('', 'groups'), of('d', 'missing', '/deep')),
    groups_claim_optional: of(false, true),
    groups_claim_type: of('list', 'object_keys'),
    token_bound_cidrs: usually(of<string[]>([], ['127.0.0.0/8']), of(['10.0.0.0/8'])),
    token_policies: usually(of(['dev']), of(['root'], ['response-wrapping'])),
    token_num_uses: usually(of(0), of(3)),
    token_type: usually(of('default'), of('batch')),
  },
  { requiredKeys: ['role_type', 'user_claim', 'bound_audiences', 'bound_claims'] },
)
const claims = fc.record(
  {
    sub: of('alice', 'bob'),
    aud: usually(of<unknown>('gate', ['gate', 'x']), of<unknown>('x', [], '')),
    c: usually(of<unknown>('a'), value),
    d: value,
    list: value,
    groups: usually(of<unknown>(['ops'], []), value),
    deep: of<unknown>({ name: 'a' }, { name: 5 }, []),
  },
  { requiredKeys: ['sub', 'c'] },
)
const config = fc.record({
  bound_issuer: of('', 'https://ci', 'https://x'),
  jwt_supported_algs: of([], ['ES256'], ['RS256']),
})

const refusalOf = ({ status, body }: Answer): unknown => (status < 400 ? 'none' : [status, body['errors']])

test(`what a what-if says of a login is what the login does after the change, ${runs} times`, async () => {
  const said = { succeed: 0, lose: 0, unknown: 0 }
  let names = 0
  await fc.assert(
    fc.asyncProperty(role, role, claims, config, async (before, after, claimed, configured) => {
      const { root, anonymous } = server
      const name = `r${names++}`
      const jwt = (jti: string) =>
        signer.sign({ iss: 'https://ci', ...claimed, jti: `${name}${jti}`, iat: now, exp: now + 60 })
      const login = async (jti: string) =>
        (await anonymous.write('auth/jwt/login', { role: name, jwt: jwt(jti) })).status === 200
      const uris = { allowed_redirect_uris: ['http://localhost/cb'] }
      await root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
      await root.write(`auth/jwt/role/${name}`, { ...before, ...uris })
      try {
        fc.pre(await login('1'))

        const tried = await root.write(`auth/jwt/role/${name}/what-if`, { ...after, ...uris })
        const written = await root.write(`auth/jwt/role/${name}`, { ...after, ...uris })

        expect(refusalOf(tried)).toEqual(refusalOf(written))
        if (tried.status >= 400) return
        const { subjects, succeed, lose, unknown } = reportOf(tried)
        expect([subjects, succeed + lose + unknown]).toEqual([1, 1])
        const isAccepted = await login('2')
        said.succeed += succeed
        said.lose += lose
        said.unknown += unknown
        if (unknown === 0) expect({ isAccepted }).toEqual({ isAccepted: succeed === 1 })

        // the configuration, for whoever is still accepted
        if (!isAccepted) return
        const whole = { jwt_validation_pubkeys: [signer.pem], ...configured }
        const config = reportOf(await root.write('auth/jwt/config/what-if', whole))
        await root.write('auth/jwt/config', whole)
        const loses = config.losers.some(({ role }) => role === name)
        expect({ isAccepted: await login('3') }).toEqual({ isAccepted: !loses })
      } finally {
        // or a what-if of the configuration would be about each role that was ever written
        await root.delete(`auth/jwt/role/${name}`)
      }
    }),
    { numRuns: runs },
  )
  expect(Math.min(said.succeed, said.lose, said.unknown)).toBeGreaterThan(0)
}, 400_000)
