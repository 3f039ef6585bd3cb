import { describe, expect, test } from 'vitest'
import type { Answer } from '../../../support/client.ts'
import type { TestServer } from '../../../support/start-server.ts'
import { aSigner } from '../signer.ts'
import {
  begin,
  callback,
  formsOf,
  postForm,
  startSmallProvider,
  verdict,
  withFlow,
} from './small-provider.ts'

const page = 'https://h:8200/v1/auth/oidc/oidc/callback'
const other = 'http://localhost:8250/oidc/callback'
const deep = 'https://h/v1/auth/deep/er/oidc/callback'
const role = { allowed_redirect_uris: [page, other, deep] }
const formPost = { oidc_response_mode: 'form_post' }
const path = 'auth/oidc/oidc/callback'

/** The browser posts this for a provider, and the person confirms the login if the page asks. */
const post = async (
  { anonymous }: TestServer,
  fields: Record<string, string | null | undefined>,
): Promise<Answer> => {
  const sent = Object.entries(fields).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const shown = await postForm(anonymous, Object.fromEntries(sent))
  const [confirm] = formsOf(shown)
  return confirm === undefined ? shown : postForm(anonymous, confirm)
}

/** The relevant parts of a page. */
const shown = ({ status, text }: Answer): string =>
  `${status} ${['Expired or missing OAuth state.', 'Invalid redirect path.', 'Completing the sign-in process...', 'too long'].find((each) => text.includes(each))}`

const completed = '200 Completing the sign-in process...'
const noState = '400 Expired or missing OAuth state.'

describe('a form of the provider', () => {
  test('the form is accepted only in this mode, and without a configuration the answer is JSON', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider)
    await server.root.write('sys/auth/empty', { type: 'oidc' })

    const refused = await post(server, { state: 'x', code: 'y' })
    expect(refused).toMatchObject({ status: 405, text: '', headers: { 'content-type': 'application/json' } })
    expect(verdict(await server.anonymous.write('auth/empty/oidc/callback', {}))).toBe(
      '400 Vault login failed. Could not load configuration.',
    )
  })

  test('the page passes the state to the window that opened it, and `no_code` then finishes the login', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: formPost, role })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state')

    const answer = await post(server, { state, code: provider.codeFor(login) })

    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/html', 'cache-control': 'no-store' },
    })
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none';.*script-src 'sha256-/)
    expect(answer.text).toContain(
      `{source: "oidc-callback", path: "oidc", code: "no_code", state: "${state}"}`,
    )
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe('ok')
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toMatch(
      /Expired or missing/,
    )
  })

  test('the last form replaces earlier ones, and a code of the callback takes precedence', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: formPost, role })
    const nothing = '400 Vault login failed. No code or id_token received.'
    type Login = { state: string | null; code: string }
    const go = async (
      posts: (login: Login) => Record<string, string | undefined>[],
      code: (login: Login) => string | undefined,
    ) => {
      const begun = await begin(server.anonymous, { redirect_uri: page })
      const login = { state: begun.get('state'), code: provider.codeFor(begun) }
      for (const fields of posts(login))
        expect(shown(await post(server, { state: login.state, ...fields }))).toBe(completed)
      return verdict(await callback(server.anonymous, { state: login.state, code: code(login) }))
    }

    expect(
      await go(
        ({ code }) => [{ code }],
        () => undefined,
      ),
    ).toBe(nothing)
    expect(
      await go(
        ({ code }) => [{ code: 'old' }, { code }],
        () => 'no_code',
      ),
    ).toBe('ok')
    expect(
      await go(
        ({ code }) => [{ code }, {}],
        () => 'no_code',
      ),
    ).toBe(nothing)
    expect(
      await go(
        () => [{ code: 'old' }],
        ({ code }) => code,
      ),
    ).toBe('ok')
    expect(
      await go(
        () => [],
        ({ code }) => code,
      ),
    ).toBe('ok')
    expect(
      await go(
        () => [{ error: 'access_denied', error_description: '<script>alert(1)</script>' }],
        () => 'no_code',
      ),
    ).toBe('400 Vault login failed. access_denied')
  })

  test('an unknown, missing, used or altered state is refused, and a form sent as JSON is accepted', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: formPost, role })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state')

    for (const wrong of [
      'st_nonsense',
      null,
      `${state},ns=x`,
      '</script><script>alert(1)</script>',
      '\u0000',
      'x'.repeat(100_000),
    ]) {
      const answer = await post(server, { state: wrong, code: 'x' })
      expect(shown(answer)).toBe(noState)
      expect(answer.text).not.toContain('<script')
    }
    const asked = await server.anonymous.write(path, { state, code: provider.codeFor(login) })
    expect(shown(await server.anonymous.write(path, formsOf(asked)[0]))).toBe(completed)
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe('ok')
    expect(shown(await post(server, { state, code: 'x' }))).toBe(noState)
  })

  test.each([
    [other, '400 Invalid redirect path.', undefined],
    [deep, completed, '"deep"'],
  ])('from %s: %s', async (redirect_uri, wanted, mount) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: formPost, role })
    const login = await begin(server.anonymous, { redirect_uri, client_nonce: 'abc' })
    const state = login.get('state')

    const answer = await post(server, { state, code: provider.codeFor(login), client_nonce: 'ignored here' })

    expect(shown(answer)).toBe(wanted)
    if (mount !== undefined) expect(answer.text).toContain(`path: ${mount}`)
    // stored nevertheless, because the command line relies on it
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code', client_nonce: 'abc' }))).toBe(
      'ok',
    )
  })

  test('the stored data is limited in size', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config: formPost, role })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state')

    expect(shown(await post(server, { state, code: 'x'.repeat(16_385) }))).toBe('400 too long')
    expect(shown(await post(server, { state, id_token: 'x'.repeat(65_537) }))).toBe('400 too long')
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toMatch(
      /No code or id_token received/,
    )
  })
})

describe('an ID token instead of a code', () => {
  const config = { ...formPost, oidc_response_types: 'id_token' }

  test("the ID token is stored, and verified by the GET, which requests only the provider's keys", async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config, role })
    // the configuration has fetched them too
    provider.web.hits.length = 0
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state')

    await post(server, { state, id_token: provider.signer.sign(provider.claims(login)) })

    expect(verdict(await callback(server.anonymous, { state }))).toBe('ok')
    expect(provider.web.hits.filter((hit) => hit !== '/.well-known/openid-configuration')).toEqual(['/jwks'])
  })

  test.each<[string, object, RegExp]>([
    ['another nonce', { nonce: 'n_x' }, /invalid id_token nonce: invalid nonce$/],
    ['another issuer', { iss: 'https://other.example.com' }, /: invalid issuer$/],
    ['another audience', { aud: 'x' }, /: invalid authorized party \(azp\)$/],
    ['its end', { exp: 1 }, /: token is expired$/],
  ])('is refused for %s', async (_what, claims, wanted) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config, role })
    const login = await begin(server.anonymous, { redirect_uri: page })
    await post(server, {
      state: login.get('state'),
      id_token: provider.signer.sign(provider.claims(login, claims)),
    })

    const told = verdict(await callback(server.anonymous, { state: login.get('state') }))

    expect(told).toMatch(/^400 Token verification failed\. Provider\.VerifyIDToken: /)
    expect(told).toMatch(wanted)
  })

  test('a foreign key, and an unexpected code, are refused', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, { config, role })
    const [one, two] = [
      await begin(server.anonymous, { redirect_uri: page }),
      await begin(server.anonymous, { redirect_uri: page }),
    ]
    await post(server, {
      state: one.get('state'),
      id_token: aSigner('RS256', { kid: 'k1' }).sign(provider.claims(one)),
    })
    await post(server, { state: two.get('state'), id_token: provider.signer.sign(provider.claims(two)) })

    expect(verdict(await callback(server.anonymous, { state: one.get('state') }))).toMatch(
      /Token verification failed\..*: invalid signature$/,
    )
    expect(verdict(await callback(server.anonymous, { state: two.get('state'), code: 'x' }))).toBe(
      `400 Vault login failed. Error exchanging oidc code: "Provider.Exchange: request (${two.get('state')}) should not be using the implicit flow: invalid OIDC flow".`,
    )
    expect(provider.tokenCalls).toEqual([])
  })
})
