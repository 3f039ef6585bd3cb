import { describe, expect, test } from 'vitest'
import { copyAsIfKilled, startInFolder } from '../../../support/folder-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import {
  begin,
  callback,
  clientId,
  clientSecret,
  redirectUri,
  startSmallProvider,
  verdict,
  withFlow,
} from './small-provider.ts'

describe('auth_url is open to everyone', () => {
  test('of 1,020 calls from one address 1,000 begin a login and the rest get 429, while others keep logging in', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    const flood = { localAddress: '127.0.0.2' }
    const asked = Array.from({ length: 1020 }, () =>
      server.anonymous.write('auth/oidc/oidc/auth_url', { redirect_uri: redirectUri }, flood),
    )
    const other = await begin(server.anonymous)

    const answers = await Promise.all(asked)

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1000)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(20)
    expect(refused[0]?.body.errors).toEqual([
      'too many logins of this address are waiting for their callback',
    ])
    expect(
      verdict(await callback(server.anonymous, { state: other.get('state'), code: provider.codeFor(other) })),
    ).toBe('ok')
    // a completed login makes room
    const first = new URLSearchParams(
      String(answers.find(({ status }) => status === 200)?.body.data?.['auth_url']).split('?')[1],
    )
    expect(
      verdict(
        await callback(server.anonymous, { state: first.get('state'), code: provider.codeFor(first) }, flood),
      ),
    ).toBe('ok')
    expect(
      (await server.anonymous.write('auth/oidc/oidc/auth_url', { redirect_uri: redirectUri }, flood)).status,
    ).toBe(200)
  })

  test('a caller cannot make the stored login large', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { role: { allowed_redirect_uris: ['http://localhost/'] } })
    const nonce = 'n'.repeat(1_000_000)
    const long = await begin(server.anonymous, { redirect_uri: `http://localhost:${'0'.repeat(10_000)}1/` })
    const login = await begin(server.anonymous, { redirect_uri: 'http://localhost:1/', client_nonce: nonce })

    expect(long.get('state')).toBeNull()
    expect(login.get('state')).toMatch(/^st_/)
  })
})

test('a provider that does not respond holds a limited number of callbacks, few of one client, and a refused one keeps its state', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider)
  const usual = provider.web.routes.get('/token') ?? {}
  const logins: URLSearchParams[] = []
  for (let index = 0; index < 257; index++) logins.push(await begin(server.anonymous))
  const finish = (login: URLSearchParams, client: number) =>
    callback(
      server.anonymous,
      { state: login.get('state'), code: provider.codeFor(login) },
      { localAddress: `127.0.1.${client}` },
    )
  const held: (() => void)[] = []
  provider.web.routes.set('/token', (answer, request) => {
    held.push(() => typeof usual === 'function' && usual(answer, request))
  })
  const [last = new URLSearchParams(), ...others] = logins

  const waiting = others.slice(0, 64).map((login) => finish(login, 1))
  await expect.poll(() => held.length).toBe(64)
  const tooManyOfOne = await finish(last, 1)
  waiting.push(...others.slice(64).map((login, at) => finish(login, 2 + Math.floor(at / 64))))
  await expect.poll(() => held.length).toBe(256)
  const tooMany = await finish(last, 5)
  const elsewhere = await server.root.read('auth/token/lookup-self')
  provider.web.routes.set('/token', usual)
  for (const release of held) release()

  for (const refused of [tooManyOfOne, tooMany])
    expect(verdict(refused)).toBe('429 too many logins are waiting for the provider')
  expect(elsewhere.status).toBe(200)
  expect((await Promise.all(waiting)).filter(({ status }) => status !== 200)).toEqual([])
  expect(verdict(await finish(last, 1))).toBe('ok')
})

test('a login continues after its server was killed, once', async () => {
  await using folder = await temporaryFolder()
  await using provider = await startSmallProvider()
  await using left = await temporaryFolder()
  await using first = await startInFolder({ folder: folder.path })
  const root = first.as(first.rootToken)
  await root.write('sys/auth/oidc', { type: 'oidc' })
  await root.write('auth/oidc/config', {
    oidc_discovery_url: provider.url,
    oidc_client_id: clientId,
    oidc_client_secret: clientSecret,
  })
  await root.write('auth/oidc/role/test', { user_claim: 'sub', allowed_redirect_uris: redirectUri })
  const [used, open] = [await begin(root, { role: 'test' }), await begin(root, { role: 'test' })]
  expect(verdict(await callback(root, { state: used.get('state'), code: provider.codeFor(used) }))).toBe('ok')

  copyAsIfKilled(folder.path, left.path)
  await using next = await startInFolder({ folder: left.path })
  const again = next.as(first.rootToken)

  expect(verdict(await callback(again, { state: open.get('state'), code: provider.codeFor(open) }))).toBe(
    'ok',
  )
  expect(verdict(await callback(again, { state: used.get('state'), code: provider.codeFor(used) }))).toMatch(
    /Expired or missing OAuth state/,
  )
})
