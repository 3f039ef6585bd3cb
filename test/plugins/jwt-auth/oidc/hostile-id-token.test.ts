import { describe, expect, test } from 'vitest'
import { shared } from '../../../support/shared.ts'
import type { TestServer } from '../../../support/start-server.ts'
import { hostileTokens } from '../hostile-tokens.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'
import {
  begin,
  callback,
  type SmallProvider,
  startSmallProvider,
  verdict,
  withFlow,
} from './small-provider.ts'

const signer = aSigner('RS256', { kid: 'r' })

async function fixture() {
  const provider = await startSmallProvider()
  provider.signer = signer
  const server = await withFlow(provider, {
    config: { oidc_response_mode: 'form_post' },
    role: { oidc_disable_confirmation: true },
  })
  const stop = async () => {
    await server[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
  }
  return { provider, server, [Symbol.asyncDispose]: stop }
}

type TokenOf = (claims: object) => string

/** The provider returns it for a code. */
async function byCode(server: TestServer, provider: SmallProvider, tokenOf: TokenOf): Promise<string> {
  const login = await begin(server.anonymous)
  const idToken = tokenOf(provider.claims(login, { sub: 'alice' }))
  return verdict(
    await callback(server.anonymous, {
      state: login.get('state'),
      code: provider.codeFor(login, { idToken }),
    }),
  )
}

/** The browser posts it. */
async function byForm(server: TestServer, provider: SmallProvider, tokenOf: TokenOf): Promise<string> {
  const login = await begin(server.anonymous)
  const state = login.get('state') ?? ''
  const raw = new URLSearchParams({
    state,
    id_token: tokenOf(provider.claims(login, { sub: 'alice' })),
  }).toString()
  await server.anonymous.call('POST', 'auth/oidc/oidc/callback', undefined, {
    raw,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })
  return verdict(await callback(server.anonymous, { state }))
}

describe('malicious ID tokens, by code and by form', () => {
  const sharedFixture = shared(fixture)

  test.each(Object.keys(hostileTokens(signer, {})))('%s is refused with 400', async (name) => {
    const { provider, server } = await sharedFixture()
    const hostile: TokenOf = (claims) => hostileTokens(signer, claims)[name]?.() ?? ''

    for (const way of [byCode, byForm]) {
      const told = await way(server, provider, hostile)
      expect(told).toMatch(/^400 (Vault login failed\.|Token verification failed\.) /)
      expect(told.length).toBeLessThan(1000)
      expect(await way(server, provider, (claims) => signer.sign(claims))).toBe('ok')
    }
  })

  test.each(['../../../../dev/null', '__proto__', 'constructor', "' or 1=1 --", 'r\u0000', 'R', ' r'])(
    'a kid %j that no key has is refused',
    async (kid) => {
      const { provider, server } = await sharedFixture()

      for (const way of [byCode, byForm]) {
        expect(await way(server, provider, (claims) => signer.sign(claims, { kid }))).toMatch(
          /^400 .*failed to verify id token signature/,
        )
      }
    },
  )

  test('keys named in the token are never fetched or used', async () => {
    await using opened = await fixture()
    const { provider, server } = opened
    await using attacker = await startProvider()
    const own = aSigner('RS256', { kid: 'r' })
    attacker.routes.set('/k', jwksOf(own))
    const header = { jwk: own.jwk, jku: `${attacker.url}/k`, x5u: `${attacker.url}/k`, x5c: ['AA=='] }

    for (const way of [byCode, byForm]) {
      expect(await way(server, provider, (claims) => own.sign(claims, header))).toMatch(
        /^400 .*invalid signature/,
      )
      expect(await way(server, provider, (claims) => signer.sign(claims, header))).toBe('ok')
    }
    expect(attacker.hits).toEqual([])
  })
})
