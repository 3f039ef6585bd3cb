import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parsePublicKeyPem } from '../../../../src/jwt/keys/public-key-pem.ts'
import { thumbprintOf } from '../../../../src/jwt/keys/thumbprint.ts'
import type { Answer, Client } from '../../../support/client.ts'
import { issuer, type JwtDesk, openJwtDesk, outcomeOf } from '../../../support/jwt-desk.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner, type Signer } from '../signer.ts'

let desk: JwtDesk
beforeAll(async () => {
  desk = await openJwtDesk()
})
afterAll(() => desk[Symbol.asyncDispose]())

/** The thumbprint, worked out here. RFC 7638 §3 */
function pinOf({ jwk }: Signer): string {
  const names = jwk['kty'] === 'RSA' ? ['e', 'kty', 'n'] : ['crv', 'kty', 'x', 'y']
  const members = names.filter((name) => name in jwk).map((name) => `"${name}":"${String(jwk[name])}"`)
  return createHash('sha256')
    .update(`{${members.join(',')}}`)
    .digest('base64url')
}

const claims = () => {
  const now = Math.floor(Date.now() / 1000)
  return { iss: issuer, sub: 'joe', aud: 'gate', iat: now, exp: now + 600 }
}
const logIn = (signer: Signer, at = 'auth/jwt/login', role = 'dev') =>
  desk.anonymous.write(at, { role, jwt: signer.sign(claims()) })
const refusedText =
  'error validating token: error verifying token signature: the key that signed it is not allowed'
const old = aSigner('ES256', { kid: 'old' })
const fresh = aSigner('ES256', { kid: 'fresh' })
const pinned = (by: readonly Signer[], fields: object = {}) =>
  desk.configure({ ...fields, allowed_key_thumbprints: by.map(pinOf) })
const onlyPems = { jwt_validation_pubkeys: [old.pem, fresh.pem] }

const listOf = ({ body }: Answer, name: string) =>
  ((body.data as Record<string, unknown> | undefined)?.[name] ?? []) as Record<string, unknown>[]

async function failureOf(answer: Answer): Promise<Record<string, unknown> | undefined> {
  const { request_id } = answer.body
  const found = await desk.root.read(`auth/jwt/failures?request_id=${String(request_id)}`)
  return listOf(found, 'failures')[0]
}

describe('the thumbprint of a key', () => {
  test.each(['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'])('is that of RFC 7638: %s', (algorithm) => {
    const signer = aSigner(algorithm)
    const parsed = parsePublicKeyPem(signer.pem)
    if ('error' in parsed) throw new Error(parsed.error)

    expect(thumbprintOf(parsed.key)).toBe(pinOf(signer))
  })
})

describe('pinned keys', () => {
  test('a login by another key of the source is refused, and only the operator learns why', async () => {
    expect((await pinned([old], onlyPems)).status).toBe(204)

    const refused = await logIn(fresh)

    expect((await logIn(old)).status).toBe(200)
    expect([refused.status, refused.body.errors]).toEqual([400, [refusedText]])
    const failure = await failureOf(refused)
    expect(failure).toMatchObject({ reason: 'key_not_allowed', check: 'signature', verified: false })
    expect(failure?.['expected']).toEqual([pinOf(old)])
    expect(failure?.['cause']).toContain(`the key ${pinOf(fresh)} is not in allowed_key_thumbprints`)
  })

  test('explain says which key signed, and which may', async () => {
    await pinned([old], onlyPems)

    const jwt = fresh.sign(claims())
    const answer = await desk.root.write('auth/jwt/explain', { role: 'dev', jwt })

    expect(listOf(answer, 'checks').find(({ verdict }) => verdict === 'fail')).toMatchObject({
      name: 'signature',
      reason: 'key_not_allowed',
      expected: [pinOf(old)],
      seen: expect.stringContaining(pinOf(fresh)),
      detail: 'allowed_key_thumbprints',
    })
  })

  test('a change of the pins counts for a token that was verified before', async () => {
    await pinned([], onlyPems)
    const jwt = fresh.sign(claims())
    const again = () => desk.anonymous.write('auth/jwt/login', { role: 'dev', jwt })
    expect([(await again()).status, (await again()).status]).toEqual([200, 200])

    await pinned([old], onlyPems)
    const pinnedOut = await again()
    await pinned([old, fresh], onlyPems)

    expect(pinnedOut.body.errors).toEqual([refusedText])
    expect((await again()).status).toBe(200)
  })

  test('JWTs as tokens, inline logins and CEL roles obey the pins', async () => {
    const cel = {
      cel_program: { expression: "pb.Auth{policies: ['desk'], alias: logical.Alias{name: 'x'}}" },
    }
    const written = await desk.root.write('auth/jwt/cel/role/prog', { ...cel, bound_audiences: ['gate'] })
    expect(written.status).toBeLessThan(300)
    await pinned([old], { ...onlyPems, accept_as_token: true, bound_issuer: issuer })
    const asToken = async (by: Signer) =>
      outcomeOf(await desk.ask('kv/x', { 'X-Vault-Token': by.sign(claims()) }))[0]
    const inline = async (by: Signer) =>
      outcomeOf(await desk.ask('kv/x', desk.head({ jwt: by.sign(claims()) })))[0]
    const byProgram = async (by: Signer) => (await logIn(by, 'auth/jwt/cel/login', 'prog')).status

    expect([await asToken(old), await inline(old), await byProgram(old)]).toEqual([200, 200, 200])
    expect([await asToken(fresh), await inline(fresh), await byProgram(fresh)]).toEqual([403, 400, 400])
  })

  test('keys of a JWKS URL and of several are pinned, also for a token without a key id', async () => {
    await using provider = await startProvider({ '/old': jwksOf(old), '/fresh': jwksOf(fresh) })
    const bare = (by: Signer) => by.sign(claims(), { kid: undefined })
    const bareLogin = async (by: Signer) =>
      (await desk.anonymous.write('auth/jwt/login', { role: 'dev', jwt: bare(by) })).body.errors
    const pairs = ['/fresh', '/old'].map((path) => ({ jwks_url: provider.url + path }))
    await pinned([old], { jwt_validation_pubkeys: [], jwks_pairs: pairs })

    expect((await logIn(old)).status).toBe(200)
    expect((await logIn(fresh)).body.errors).toEqual([refusedText])
    expect(await bareLogin(fresh)).toEqual([refusedText])
    expect(await bareLogin(old)).toBeUndefined()

    await pinned([old], { jwt_validation_pubkeys: [], jwks_url: `${provider.url}/fresh` })
    expect((await logIn(fresh)).body.errors).toEqual([refusedText])
    // a key that may not sign makes nobody fetch again
    const asked = provider.hits.length
    await logIn(fresh)
    expect(provider.hits).toHaveLength(asked)
  })

  test.each([
    { pin: 'short', status: 400 },
    { pin: 'A'.repeat(42), status: 400 },
    { pin: `${'A'.repeat(42)}B`, status: 400 },
    { pin: `${'A'.repeat(42)}=`, status: 400 },
    { pin: '../'.repeat(15).slice(0, 43), status: 400 },
    { pin: 'A'.repeat(43), status: 204 },
  ])('a pin is 43 characters of base64url: $pin', async ({ pin, status }) => {
    const answer = await desk.configure({ allowed_key_thumbprints: [pin] })

    expect(answer.status).toBe(status)
    await desk.configure({})
  })

  test('there are at most 100 pins', async () => {
    const pins = (count: number) => Array.from({ length: count }, () => 'A'.repeat(43))

    expect((await desk.configure({ allowed_key_thumbprints: pins(101) })).status).toBe(400)
    expect((await desk.configure({ allowed_key_thumbprints: pins(100) })).status).toBe(204)
  })

  test('a read of the configuration shows them only if there are some', async () => {
    const field = async (by: readonly Signer[]) => {
      await pinned(by, onlyPems)
      return (await desk.root.read('auth/jwt/config')).body.data?.['allowed_key_thumbprints']
    }

    expect([await field([old]), await field([])]).toEqual([[pinOf(old)], undefined])
  })

  test('the linter finds pins that no current key has, for those who may read the configuration', async () => {
    const gone = aSigner('ES256')
    await pinned([old, gone], onlyPems)
    const findings = async (client: Client) =>
      listOf(await client.read('auth/jwt/lint'), 'findings').filter(({ code }) => code === 'pin_without_key')
    await desk.root.write('sys/policies/acl/lint', {
      policy:
        'path "auth/jwt/*" { capabilities = ["read"] } path "auth/jwt/config" { capabilities = ["deny"] }',
    })
    const token = await desk.root.write('auth/token/create', { policies: ['lint'] })

    expect(await findings(desk.root)).toEqual([
      {
        role: '',
        code: 'pin_without_key',
        field: 'allowed_key_thumbprints',
        text: `[${pinOf(gone)}] are thumbprints of no current key`,
      },
    ])
    expect(await findings(desk.as(String(token.body.auth?.client_token)))).toEqual([])
    await pinned([old], onlyPems)
    expect(await findings(desk.root)).toEqual([])
  })

  test('a what-if says whom the pins would lock out', async () => {
    await using provider = await startProvider({ '/keys': jwksOf(old, fresh) })
    const config = { jwks_url: `${provider.url}/keys`, jwt_validation_pubkeys: [] }
    await desk.configure(config)
    await desk.role('tried')
    const login = await logIn(old, 'auth/jwt/login', 'tried')
    expect(login.status).toBe(200)
    const reasons = async (by: readonly Signer[]) => {
      const fields = { ...config, default_role: 'dev', allowed_key_thumbprints: by.map(pinOf) }
      const report = await desk.root.write('auth/jwt/config/what-if', fields)
      return listOf(report, 'losers')
        .filter(({ role }) => role === 'tried')
        .map(({ reason }) => reason)
    }

    expect(await reasons([old])).toEqual([])
    expect(await reasons([fresh])).toEqual(['key_not_allowed'])
  })
})
