import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { hostileTokens } from './hostile-tokens.ts'
import { operatorVerdict } from './operator-verdict.ts'
import { jwksOf, type Provider, startProvider } from './provider.ts'
import { aSigner, newKeys } from './signer.ts'

const rs = aSigner('RS256', { kid: 'r', keys: newKeys('RS256') })
const now = () => Math.floor(Date.now() / 1000)
const claims = (given: object = {}) => ({
  sub: 'alice',
  aud: 'gate',
  iat: now() - 5,
  exp: now() + 600,
  ...given,
})
const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }

/** A mount with the key as PEM and one with it behind a JWKS URL. */
async function twoMounts() {
  const provider = await startProvider({ '/k': jwksOf(rs) })
  const server = await borrowServer()
  await server.root.write('sys/auth/remote', { type: 'jwt' })
  await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [rs.pem] })
  await server.root.write('auth/remote/config', { jwks_url: `${provider.url}/k` })
  await server.root.write('auth/jwt/role/r', role)
  await server.root.write('auth/remote/role/r', role)
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    await provider.stop()
  }
  return { server, provider, [Symbol.asyncDispose]: stop }
}

/** Both mounts refuse the token with 400, in the envelope, and repeat none of it. */
async function refusedByBoth(server: TestServer, jwt: string): Promise<string[]> {
  const texts: string[] = []
  for (const mount of ['jwt', 'remote']) {
    const answer = await server.anonymous.write(`auth/${mount}/login`, { role: 'r', jwt })
    expect({ status: answer.status, keys: Object.keys(answer.body) }).toMatchObject({
      status: 400,
      keys: expect.arrayContaining(['errors']),
    })
    expect(answer.text.length).toBeLessThan(1000)
    texts.push(String(answer.body.errors?.[0]))
  }
  return texts
}

describe('malicious tokens', () => {
  const good = rs.sign(claims())
  const both = shared(twoMounts)

  test.each(Object.entries(hostileTokens(rs, claims())))('%s is refused with 400', async (_name, make) => {
    const fixture = await both()

    await refusedByBoth(fixture.server, make())

    const afterwards = await fixture.server.anonymous.write('auth/jwt/login', { role: 'r', jwt: good })
    expect(afterwards.status).toBe(200)
  })

  test('keys named in the token are never fetched or used', async () => {
    await using fixture = await twoMounts()
    await using attacker = await startProvider()
    const own = aSigner('RS256', { kid: 'r', keys: newKeys('RS256') })
    attacker.routes.set('/k', jwksOf(own))
    const header = { jwk: own.jwk, jku: `${attacker.url}/k`, x5u: `${attacker.url}/k`, x5c: ['AA=='] }

    await refusedByBoth(fixture.server, own.sign(claims(), header))

    expect(attacker.hits).toEqual([])
    const bySelf = await fixture.server.anonymous.write('auth/jwt/login', {
      role: 'r',
      jwt: rs.sign(claims(), header),
    })
    expect(bySelf.status).toBe(200)
  })

  test('bound claims named like members of every object only match claims', async () => {
    await using fixture = await twoMounts()
    for (const name of [
      '__proto__',
      'constructor',
      'toString',
      '/__proto__/constructor/name',
      '/constructor/name',
    ]) {
      const bound = `{"role_type":"jwt","user_claim":"sub","bound_audiences":"gate","bound_claims":${JSON.stringify({ a: 1 }).replace('"a":1', `${JSON.stringify(name)}:["Object","x"]`)}}`
      expect(
        (await fixture.server.root.call('POST', 'auth/jwt/role/p', undefined, { raw: bound })).status,
      ).toBe(204)
      const answer = await fixture.server.anonymous.write('auth/jwt/login', {
        role: 'p',
        jwt: rs.sign(claims()),
      })
      expect(String(answer.body.errors?.[0])).toBe(
        `error validating claims: claim ${JSON.stringify(name)} is missing`,
      )
    }
  })

  test('a hostile glob against a claim of 100 kB is decided quickly', async () => {
    await using fixture = await twoMounts()
    const bound_claims = { c: [`${'*a'.repeat(20_000)}*b`, `${'a*'.repeat(20_000)}c`] }
    expect(
      (
        await fixture.server.root.write('auth/jwt/role/g', {
          ...role,
          bound_claims_type: 'glob',
          bound_claims,
        })
      ).status,
    ).toBe(204)

    const answer = await fixture.server.anonymous.write('auth/jwt/login', {
      role: 'g',
      jwt: rs.sign(claims({ c: 'a'.repeat(100_000) })),
    })

    expect(String(answer.body.errors?.[0])).toBe(
      'error validating claims: claim "c" does not match any associated bound claim values',
    )
  })

  test('a long token with many groups is accepted', async () => {
    await using fixture = await twoMounts()
    const groups = Array.from({ length: 450 }, (_, index) => `group-${index}`)
    await fixture.server.root.write('auth/jwt/role/g', { ...role, groups_claim: 'groups' })

    const answer = await fixture.server.anonymous.write('auth/jwt/login', {
      role: 'g',
      jwt: rs.sign(claims({ groups, pad: 'x'.repeat(150_000) })),
    })

    expect(answer.status).toBe(200)
  })
})

describe('providers that misbehave', () => {
  type Route = Parameters<Provider['routes']['set']>[1]
  const hugeSet = JSON.stringify({
    keys: Array.from({ length: 10_000 }, (_, index) => ({ ...rs.jwk, kid: `k${index}` })),
  })
  const rows: [name: string, route: Route][] = [
    ['a JWKS of 10,000 keys', hugeSet],
    ['a JWKS of 10,000 small keys', JSON.stringify({ keys: Array(10_000).fill({ kty: 'oct' }) })],
    ['a JWKS of 50 MB', (answer) => answer.writeHead(200).end(Buffer.alloc(50_000_000, 0x20))],
    ['HTML', (answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('<!DOCTYPE html><html>')],
    ['a redirect elsewhere', (answer) => answer.writeHead(302, { location: 'http://127.0.0.1:1/k' }).end()],
    ['a redirect without end', (answer, { url }) => answer.writeHead(302, { location: url }).end()],
    ['nested JSON', `{"keys":${'['.repeat(100_000)}`],
    ['a closed connection', (answer) => answer.destroy()],
    [
      'half an answer',
      (answer) => answer.writeHead(200, { 'content-length': '1000' }).write('{', () => answer.destroy()),
    ],
  ]

  const both = shared(twoMounts)

  test.each(rows)('%s at a write is refused and changes nothing', async (_name, route) => {
    const { server, provider } = await both()
    const config = async () => (await server.root.read('auth/remote/config')).body.data
    const before = await config()
    provider.routes.set('/other', route)

    const answer = await server.root.write('auth/remote/config', { jwks_url: `${provider.url}/other` })

    expect(await config()).toEqual(before)
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [expect.stringContaining(`error checking jwks URL ${provider.url}/other: `)] },
    })
  })

  test.each(rows)('%s at a login is refused, and known keys still work', async (_name, route) => {
    await using fixture = await twoMounts()
    const login = (jwt: string) => fixture.server.anonymous.write('auth/remote/login', { role: 'r', jwt })
    expect((await login(rs.sign(claims()))).status).toBe(200)
    fixture.provider.routes.set('/k', route)

    const unknown = await login(aSigner('ES256', { kid: 'new' }).sign(claims()))

    expect(unknown.body.errors).toEqual(['error verifying token: keys of the provider are unavailable'])
    expect(await operatorVerdict(fixture.server.root, 'auth/remote', unknown)).toMatch(
      /^400 error validating token: error verifying token signature: fetching keys oidc: /,
    )
    expect(unknown.text.length).toBeLessThan(1000)
    expect((await login(rs.sign(claims()))).status).toBe(200)
  })

  test('a discovery document with a foreign issuer is refused, at the write and at the login', async () => {
    await using fixture = await twoMounts()
    const { provider, server } = fixture
    const well = '/.well-known/openid-configuration'
    const advice = 'write oidc_discovery_url as the provider does'
    provider.routes.set(well, { issuer: 'https://evil.example', jwks_uri: `${provider.url}/k` })
    expect(await server.root.write('auth/jwt/config', { oidc_discovery_url: provider.url })).toMatchObject({
      status: 400,
      body: {
        errors: [
          `error checking oidc discovery URL: issuer "${provider.url}" expected, discovery says "https://evil.example": ${advice}`,
        ],
      },
    })

    provider.routes.set(well, { issuer: provider.url, jwks_uri: `${provider.url}/k` })
    expect((await server.root.write('auth/jwt/config', { oidc_discovery_url: provider.url })).status).toBe(
      204,
    )
    provider.routes.set(well, { issuer: 'https://evil.example', jwks_uri: `${provider.url}/k` })
    const answer = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt: rs.sign(claims()) })
    expect(await operatorVerdict(server.root, 'auth/jwt', answer)).toMatch(
      /^400 error configuring token validator: keyset configuration error: issuer "\S+" expected, discovery says "https:\/\/evil\.example"/,
    )
  })

  test('a key set of a discovery document in a denied network is not fetched', async () => {
    await using provider = await startProvider()
    await using hidden = await startProvider({ '/k': jwksOf(rs) })
    await using server = await startTestServer({ settings: { OUTBOUND_DENY: '127.0.0.2/32,::1' } })
    provider.routes.set('/.well-known/openid-configuration', {
      issuer: provider.url,
      jwks_uri: hidden.url.replace('127.0.0.1', '127.0.0.2'),
    })
    await server.root.write('auth/jwt/config', { oidc_discovery_url: provider.url })
    await server.root.write('auth/jwt/role/r', role)

    const answer = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt: rs.sign(claims()) })

    expect(await operatorVerdict(server.root, 'auth/jwt', answer)).toMatch(
      /address 127\.0\.0\.2 is in a denied network/,
    )
    expect(hidden.hits).toEqual([])
  })
})
