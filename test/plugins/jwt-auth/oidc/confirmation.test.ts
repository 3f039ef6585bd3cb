import { describe, expect, test } from 'vitest'
import { Browser } from '../../../../simulators/openid-provider/browser.ts'
import { startOpenIdProvider } from '../../../../simulators/openid-provider/openid-provider.ts'
import { borrowServer } from '../../../support/borrowed-server.ts'
import type { Answer } from '../../../support/client.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { serversInTurn } from '../../../support/of-one-server.ts'
import type { TestServer } from '../../../support/start-server.ts'
import {
  begin,
  callback,
  clientId,
  clientSecret,
  formsOf,
  postForm,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

const page = 'https://gate.example/v1/auth/oidc/oidc/callback'
const commandLine = 'http://localhost:8250/oidc/callback'
const formPost = { oidc_response_mode: 'form_post' }
const waiting = '400 Vault login failed. The login waits for a confirmation in the browser.'
const noState = '400 Vault login failed. Expired or missing OAuth state.'

type Fields = Readonly<Record<string, string>>

/** The form that confirms and the one that refuses. */
function buttonsOf(answer: Answer): { confirm: Fields; refuse: Fields } {
  const [confirm, refuse] = formsOf(answer)
  if (confirm === undefined || refuse === undefined)
    throw new Error(`${answer.status} a page without two forms: ${answer.text}`)
  return { confirm, refuse }
}

/** Each server keeps its own. */
async function failuresOf(server: TestServer, reason: string): Promise<Record<string, unknown>[]> {
  const failures: Record<string, unknown>[][] = []
  for (let asked = 0; asked < serversInTurn; asked++) {
    const { body } = await server.root.read(`auth/oidc/failures?reason=${reason}`)
    failures.push(body.data?.['failures'] as unknown as Record<string, unknown>[])
  }
  return failures.flat()
}

const tokensOf = async (server: TestServer): Promise<unknown> =>
  (await server.root.call('LIST', 'auth/token/accessors')).body.data?.['keys']

test('the initiator of a login gets no token unless the person who signed in confirms it', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { config: formPost, role: { allowed_redirect_uris: [page] } })
  const before = await tokensOf(server)
  const login = await begin(server.anonymous, { redirect_uri: page, client_nonce: 'of the attacker' })
  const state = login.get('state') ?? ''
  const poll = () => callback(server.anonymous, { state, code: 'no_code', client_nonce: 'of the attacker' })

  const shown = await postForm(server.anonymous, { state, code: provider.codeFor(login) })
  const early = [verdict(await poll()), verdict(await poll())]
  const tokens = await tokensOf(server)
  const done = await postForm(server.anonymous, buttonsOf(shown).confirm)

  expect(early).toEqual([waiting, waiting])
  expect(tokens).toEqual(before)
  expect(provider.tokenCalls).toEqual([])
  expect(shown.text).toContain('A login is in progress')
  expect(done).toMatchObject({
    status: 200,
    text: expect.stringContaining('Completing the sign-in process...'),
  })
  expect(await tokensOf(server)).toEqual(before)
  expect(verdict(await poll())).toBe('ok')
  expect(verdict(await poll())).toBe(noState)
})

test('the page shows address, time, role and mount, all escaped, and nothing may frame it', async () => {
  const clock = new FakeClock(Date.UTC(2026, 10, 22, 9, 30))
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, {
    config: formPost,
    clock,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
  })
  await server.root.write('auth/oidc/role/ops', { user_claim: 'sub', allowed_redirect_uris: [page] })
  const begun = await server.anonymous.call(
    'POST',
    'auth/oidc/oidc/auth_url',
    { role: 'ops', redirect_uri: page },
    { headers: { 'X-Forwarded-For': '203.0.113.66' } },
  )
  const state = new URLSearchParams(String(begun.body.data?.['auth_url']).split('?')[1]).get('state') ?? ''

  const { text, headers, status } = await postForm(server.anonymous, {
    state,
    code: '"><script>alert(1)</script>',
  })

  expect(status).toBe(200)
  for (const told of ['203.0.113.66', '2026-11-22T09:30:00Z', 'ops', 'auth/oidc/'])
    expect(text).toContain(told)
  expect(text).not.toContain('alert(1)')
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'$/,
  )
  // with no-referrer, a browser sends `Origin: null` with the form
  expect(headers).toMatchObject({
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
  })
})

describe('the one-time value', () => {
  test.each<[string, (confirm: Fields) => Fields]>([
    ['none', ({ confirmation: _, ...rest }) => ({ ...rest, confirmation: '' })],
    ['another one', (confirm) => ({ ...confirm, confirmation: 'x'.repeat(43) })],
    [
      'one in other letters',
      (confirm) => ({ ...confirm, confirmation: (confirm['confirmation'] ?? '').toUpperCase() }),
    ],
    ['a cut one', (confirm) => ({ ...confirm, confirmation: (confirm['confirmation'] ?? '').slice(0, -1) })],
  ])('counts only unchanged: %s', async (_what, changed) => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state') ?? ''
    const { confirm } = buttonsOf(await postForm(server.anonymous, { state, code: provider.codeFor(login) }))

    const refused = await postForm(server.anonymous, changed(confirm))

    expect(refused).toMatchObject({ status: 400, headers: { 'content-type': 'text/html' } })
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe(waiting)
    expect(await failuresOf(server, 'confirmation_invalid')).toMatchObject([
      { path: 'oidc/callback', role: 'test', check: 'confirmation', status: 400 },
    ])
    await postForm(server.anonymous, confirm)
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe('ok')
  })

  test('counts once', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const { confirm } = buttonsOf(
      await postForm(server.anonymous, { state: login.get('state') ?? '', code: provider.codeFor(login) }),
    )

    const answers = await Promise.all(Array.from({ length: 5 }, () => postForm(server.anonymous, confirm)))

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400])
  })

  test('belongs to one login, and is invalid for another one and at another mount', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    await server.root.write('sys/auth/other', { type: 'oidc' })
    const config = {
      oidc_discovery_url: provider.url,
      oidc_client_id: clientId,
      oidc_client_secret: clientSecret,
      ...formPost,
    }
    await server.root.write('auth/other/config', config)
    const [one, two] = [
      await begin(server.anonymous, { redirect_uri: page }),
      await begin(server.anonymous, { redirect_uri: page }),
    ]
    const [state, otherState] = [one.get('state') ?? '', two.get('state') ?? '']
    const { confirm } = buttonsOf(await postForm(server.anonymous, { state, code: provider.codeFor(one) }))
    await postForm(server.anonymous, { state: otherState, code: provider.codeFor(two) })

    expect((await postForm(server.anonymous, { ...confirm, state: otherState })).status).toBe(400)
    expect((await postForm(server.anonymous, confirm, 'auth/other/oidc/callback')).text).toContain(
      'Expired or missing OAuth state.',
    )
    expect(verdict(await callback(server.anonymous, { state: otherState, code: 'no_code' }))).toBe(waiting)
    expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe(waiting)
  })

  test('expires with the login, ten minutes after the form', async () => {
    const clock = new FakeClock()
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
      clock,
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const { confirm } = buttonsOf(
      await postForm(server.anonymous, { state: login.get('state') ?? '', code: provider.codeFor(login) }),
    )
    clock.advance(601)

    expect((await postForm(server.anonymous, confirm)).text).toContain('Expired or missing OAuth state.')
  })

  test('confirms only the form it came with, and a form that replaces it needs its own confirmation', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state') ?? ''
    const poll = async () => verdict(await callback(server.anonymous, { state, code: 'no_code' }))

    // the attacker knows the state: posts anything, confirms it, and waits for the person's code
    const bait = buttonsOf(await postForm(server.anonymous, { state, code: 'bait' }))
    await postForm(server.anonymous, bait.confirm)
    const real = buttonsOf(await postForm(server.anonymous, { state, code: provider.codeFor(login) }))

    expect(await poll()).toBe(waiting)
    expect((await postForm(server.anonymous, bait.confirm)).status).toBe(400)
    expect(await poll()).toBe(waiting)
    await postForm(server.anonymous, real.confirm)
    expect(await poll()).toBe('ok')
  })

  test('a form that arrives twice shows the same page, and stays confirmed', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const form = { state: login.get('state') ?? '', code: provider.codeFor(login) }
    const [first, second] = await Promise.all([
      postForm(server.anonymous, form),
      postForm(server.anonymous, form),
    ])

    expect(buttonsOf(second)).toEqual(buttonsOf(first))
    await postForm(server.anonymous, buttonsOf(first).confirm)
    expect((await postForm(server.anonymous, form)).text).toContain('Completing the sign-in process...')
    expect(verdict(await callback(server.anonymous, { state: form.state, code: 'no_code' }))).toBe('ok')
  })
})

test('a refusal ends the login and is recorded among the failures', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { config: formPost, role: { allowed_redirect_uris: [page] } })
  const login = await begin(server.anonymous, { redirect_uri: page })
  const state = login.get('state') ?? ''
  const { confirm, refuse } = buttonsOf(
    await postForm(server.anonymous, { state, code: provider.codeFor(login) }),
  )

  const refused = await postForm(server.anonymous, refuse)

  expect(refused).toMatchObject({ status: 200, text: expect.stringContaining('The login was refused') })
  expect(await failuresOf(server, 'confirmation_denied')).toMatchObject([
    {
      path: 'oidc/callback',
      role: 'test',
      check: 'confirmation',
      status: 200,
      remote_address: '127.0.0.1',
      // who began the login, for the operator
      seen: 'refused',
      detail: `begun from 127.0.0.1 for ${page}`,
    },
  ])
  expect((await postForm(server.anonymous, confirm)).text).toContain('Expired or missing OAuth state.')
  expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe(noState)
  expect(provider.tokenCalls).toEqual([])
})

test('where origins are checked, the provider and the server itself must be among them', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { config: formPost, role: { allowed_redirect_uris: [page] } })
  await server.root.write('sys/config/cors', {
    allowed_origins: ['https://idp.example', 'https://gate.example'],
  })
  const login = await begin(server.anonymous, { redirect_uri: page })
  const from = (origin: string, fields: Fields) =>
    server.anonymous.write('auth/oidc/oidc/callback', fields, { headers: { Origin: origin } })
  const shown = await from('https://idp.example', {
    state: login.get('state') ?? '',
    code: provider.codeFor(login),
  })

  expect((await from('https://evil.example', buttonsOf(shown).confirm)).status).toBe(403)
  expect((await from('null', buttonsOf(shown).confirm)).status).toBe(403)
  expect((await from('https://gate.example', buttonsOf(shown).confirm)).text).toContain(
    'Completing the sign-in process...',
  )
})

test('a poll with the wrong client nonce ends the login, confirmed or not', async () => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, { config: formPost, role: { allowed_redirect_uris: [page] } })
  const login = await begin(server.anonymous, { redirect_uri: page, client_nonce: 'mine' })
  const state = login.get('state') ?? ''
  const { confirm } = buttonsOf(await postForm(server.anonymous, { state, code: provider.codeFor(login) }))

  expect(verdict(await callback(server.anonymous, { state, code: 'no_code', client_nonce: 'theirs' }))).toBe(
    '400 invalid client_nonce',
  )
  expect((await postForm(server.anonymous, confirm)).text).toContain('Expired or missing OAuth state.')
})

describe('what needs no confirmation', () => {
  test.each([commandLine, 'http://127.0.0.1:9999/oidc/callback', 'http://[::1]:1/oidc/callback'])(
    'a command line that listens at %s itself needs no confirmation',
    async (redirect_uri) => {
      await using provider = await startSmallProvider()
      await using server = await withFlow(provider, {
        config: formPost,
        role: { allowed_redirect_uris: [redirect_uri] },
      })
      const login = await begin(server.anonymous, { redirect_uri, client_nonce: 'abc' })
      const state = login.get('state') ?? ''

      const answer = await postForm(server.anonymous, {
        state,
        code: provider.codeFor(login),
        client_nonce: 'abc',
      })

      expect(answer).toMatchObject({ status: 400, text: expect.stringContaining('Invalid redirect path.') })
      expect(verdict(await callback(server.anonymous, { state, code: 'no_code', client_nonce: 'abc' }))).toBe(
        'ok',
      )
    },
  )

  test("a provider's refusal, and an empty form, need no confirmation", async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    const empty: readonly (readonly [Fields, string])[] = [
      [{ error: 'access_denied', error_description: 'evil.example' }, 'access_denied'],
      [{ error: ' Access_Denied' }, 'No code or id_token received.'],
      [{ error: 'ask Mallory at evil.example' }, 'No code or id_token received.'],
      [{}, 'No code or id_token received.'],
    ]
    for (const [fields, text] of empty) {
      const login = await begin(server.anonymous, { redirect_uri: page })
      const state = login.get('state') ?? ''

      expect((await postForm(server.anonymous, { state, ...fields })).text).toContain(
        'Completing the sign-in process...',
      )
      expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe(
        `400 Vault login failed. ${text}`,
      )
    }
  })

  test('a code that the caller brings needs no confirmation, because it was sent to nobody else', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page] },
    })
    const login = await begin(server.anonymous, { redirect_uri: page })
    const state = login.get('state') ?? ''
    await postForm(server.anonymous, { state, code: 'old' })

    expect(verdict(await callback(server.anonymous, { state, code: provider.codeFor(login) }))).toBe('ok')
  })

  test('a role with `oidc_disable_confirmation` needs no confirmation, as the role is when the login ends', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      config: formPost,
      role: { allowed_redirect_uris: [page], oidc_disable_confirmation: true },
    })
    const go = async (between: () => Promise<unknown>) => {
      const login = await begin(server.anonymous, { redirect_uri: page })
      const state = login.get('state') ?? ''
      const shown = await postForm(server.anonymous, { state, code: provider.codeFor(login) })
      await between()
      return [formsOf(shown).length, verdict(await callback(server.anonymous, { state, code: 'no_code' }))]
    }

    expect(await go(async () => undefined)).toEqual([0, 'ok'])
    expect(
      await go(() => writeRole(server, { allowed_redirect_uris: [page], oidc_disable_confirmation: false })),
    ).toEqual([0, waiting])
    expect(
      await go(() => writeRole(server, { allowed_redirect_uris: [page], oidc_disable_confirmation: true })),
    ).toEqual([2, 'ok'])
    expect((await server.root.read('auth/oidc/role/test')).body.data).toMatchObject({
      oidc_disable_confirmation: true,
    })
  })
})

test.each([
  ['a server that is reached at a loopback address', 'http://127.0.0.1:8200/v1/auth/oidc/oidc/callback'],
  ['the same in a namespace', 'http://localhost:8200/v1/team/auth/oidc/oidc/callback'],
  ['a scheme of an application', 'com.example.app://localhost/oidc/callback'],
  ['a name that begins like a loopback one', 'http://localhost.example/oidc/callback'],
  ['an address that no command line listens at', 'https://login.example/oidc/callback'],
])('%s needs the confirmation, because no command line receives the form', async (_what, redirect_uri) => {
  await using provider = await startSmallProvider()
  await using server = await withFlow(provider, {
    config: formPost,
    role: { allowed_redirect_uris: [redirect_uri] },
  })
  const login = await begin(server.anonymous, { redirect_uri })
  const state = login.get('state') ?? ''

  const { confirm } = buttonsOf(await postForm(server.anonymous, { state, code: provider.codeFor(login) }))

  expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe(waiting)
  expect((await postForm(server.anonymous, confirm)).status).toBe(200)
  expect(verdict(await callback(server.anonymous, { state, code: 'no_code' }))).toBe('ok')
})

test('a posted ID token needs the confirmation too', async () => {
  await using provider = await startSmallProvider()
  const config = { ...formPost, oidc_response_types: 'id_token' }
  await using server = await withFlow(provider, { config, role: { allowed_redirect_uris: [page] } })
  const login = await begin(server.anonymous, { redirect_uri: page })
  const state = login.get('state') ?? ''
  const { confirm } = buttonsOf(
    await postForm(server.anonymous, { state, id_token: provider.signer.sign(provider.claims(login)) }),
  )

  const early = [
    await callback(server.anonymous, { state }),
    await callback(server.anonymous, { state, code: 'no_code' }),
  ].map(verdict)
  await postForm(server.anonymous, confirm)

  expect(early).toEqual([waiting, waiting])
  expect(verdict(await callback(server.anonymous, { state }))).toBe('ok')
})

test('in a namespace the confirmation belongs to the mount of that namespace', async () => {
  await using provider = await startSmallProvider()
  await using server = await borrowServer()
  await server.root.write('sys/namespaces/team', {})
  const config = {
    oidc_discovery_url: provider.url,
    oidc_client_id: clientId,
    oidc_client_secret: clientSecret,
    default_role: 'test',
    ...formPost,
  }
  for (const namespace of ['', 'team/']) {
    await server.root.write(`${namespace}sys/auth/oidc`, { type: 'oidc' })
    await server.root.write(`${namespace}auth/oidc/config`, config)
  }
  const redirect_uri = 'https://gate.example/v1/team/auth/oidc/oidc/callback'
  await server.root.write('team/auth/oidc/role/test', {
    user_claim: 'sub',
    allowed_redirect_uris: [redirect_uri],
  })
  const begun = await server.anonymous.write('team/auth/oidc/oidc/auth_url', { redirect_uri })
  const login = new URLSearchParams(String(begun.body.data?.['auth_url']).split('?')[1])
  const state = login.get('state') ?? ''

  const shown = await postForm(
    server.anonymous,
    { state, code: provider.codeFor(login) },
    'team/auth/oidc/oidc/callback',
  )
  expect(shown.text).toContain('team/auth/oidc/')
  expect((await postForm(server.anonymous, buttonsOf(shown).confirm)).text).toContain(
    'Expired or missing OAuth state.',
  )
  expect(
    (await postForm(server.anonymous, buttonsOf(shown).confirm, 'team/auth/oidc/oidc/callback')).status,
  ).toBe(200)

  const answer = await server.anonymous.read(`team/auth/oidc/oidc/callback?state=${state}&code=no_code`)
  expect(verdict(answer)).toBe('ok')
})

test("a person signs in at a certified provider through somebody else's link, and the sender gets nothing", async () => {
  const client = { client_id: 'gatehouse', client_secret: 'hush' }
  await using provider = await startOpenIdProvider({
    clients: [{ ...client, response_types: ['id_token'], grant_types: ['implicit'], redirect_uris: [page] }],
  })
  await using server = await borrowServer()
  await server.root.write('sys/auth/oidc', { type: 'oidc' })
  const discovery = {
    oidc_discovery_url: provider.url,
    oidc_client_id: client.client_id,
    oidc_client_secret: client.client_secret,
  }
  await server.root.write('auth/oidc/config', {
    ...discovery,
    default_role: 'test',
    ...formPost,
    oidc_response_types: 'id_token',
  })
  await writeRole(server, { allowed_redirect_uris: [page] })
  const begun = await server.anonymous.write('auth/oidc/oidc/auth_url', {
    redirect_uri: page,
    client_nonce: 'of the attacker',
  })
  const link = String(begun.body.data?.['auth_url'])

  const { posted } = await new Browser().visit(link, { login: 'ada', password: 'any' })
  const shown = await postForm(server.anonymous, Object.fromEntries(posted ?? []))
  const stolen = await callback(server.anonymous, {
    state: posted?.get('state'),
    code: 'no_code',
    client_nonce: 'of the attacker',
  })

  expect(verdict(stolen)).toBe(waiting)
  expect((await postForm(server.anonymous, buttonsOf(shown).refuse)).text).toContain('The login was refused')
  expect(
    verdict(
      await callback(server.anonymous, {
        state: posted?.get('state'),
        code: 'no_code',
        client_nonce: 'of the attacker',
      }),
    ),
  ).toBe(noState)
})
