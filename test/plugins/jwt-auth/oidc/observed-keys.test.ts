import { calculateJwkThumbprint } from 'jose'
import { expect, test } from 'vitest'
import type { TestServer } from '../../../support/start-server.ts'
import { jwksOf } from '../provider.ts'
import { aSigner } from '../signer.ts'
import { begin, confirmed, directRole, polled } from './polled-login.ts'
import {
  configure,
  logIn,
  redirectUri,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

type Key = { thumbprint: string; last_login: string | null }

/** The keys that a login used, of the provider's. */
async function usedKeys({ root }: TestServer): Promise<string[]> {
  const { body, status } = await root.read('auth/oidc/keys')
  expect(status).toBe(200)
  const { sources } = body.data as unknown as { sources: { keys: Key[] }[] }
  return sources
    .flatMap(({ keys }) => keys)
    .flatMap(({ thumbprint, last_login }) => (last_login === null ? [] : [thumbprint]))
}

const metadata = { claim_mappings: { color: 'color' } }

test('pins hold for ID tokens and signed userinfo, and browser logins of each mode are in the timeline', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { role: metadata })
  const other = aSigner('RS256', { kid: 'other' })
  provider.web.routes.set('/jwks', jwksOf(provider.signer, other))
  const pin = await calculateJwkThumbprint(provider.signer.jwk)
  const otherPin = await calculateJwkThumbprint(other.jwk)
  await configure(server, provider, { allowed_key_thumbprints: [pin] })
  const info = { sub: 'bob', color: 'info', iss: provider.url }
  const colorBy = async (signer: typeof other) => {
    provider.userInfo = { type: 'application/jwt', body: signer.sign(info) }
    return (await logIn(server, provider, { color: 'id' })).body.auth?.['metadata']
  }

  expect(await colorBy(provider.signer)).toMatchObject({ color: 'info' })
  expect(await colorBy(other)).toMatchObject({ color: 'id' })
  expect(await usedKeys(server)).toEqual([pin])

  await configure(server, provider, { allowed_key_thumbprints: [otherPin] })
  expect(verdict(await logIn(server, provider))).toContain('the key that signed it is not allowed')

  await configure(server, provider, {})
  await writeRole(server, {
    ...directRole,
    allowed_redirect_uris: [directRole.allowed_redirect_uris[0], redirectUri],
  })
  Object.assign(provider, { signer: other })
  const ended = async () => {
    const { login, state } = await begin(server.anonymous)
    await confirmed(server.anonymous, state, provider.codeFor(login))
    return state
  }
  expect(await polled(server.anonymous, await ended())).toBe('ok')
  expect((await usedKeys(server)).toSorted()).toEqual([pin, otherPin].toSorted())

  const waiting = await ended()
  await configure(server, provider, { allowed_key_thumbprints: [pin] })
  expect(await polled(server.anonymous, waiting)).toContain('the key that signed it is not allowed')
})
