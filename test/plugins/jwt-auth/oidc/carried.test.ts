import { expect, test } from 'vitest'
import { enableAuditFile } from '../../../support/audit-file.ts'
import type { Answer, Client } from '../../../support/client.ts'
import { inlineLogin, outcomeOf } from '../../../support/jwt-desk.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import {
  begin,
  confirmed,
  failuresOf,
  pending,
  polled,
  title,
  withDevice,
  withDirect,
} from './polled-login.ts'
import { callback, startSmallProvider } from './small-provider.ts'

const lostText = 'Vault login failed. Expired or missing OAuth state.'
const lookup = 'auth/token/lookup-self'

const carrying = (client: Client, path: string, fields: object, operation = 'update'): Promise<Answer> =>
  client.call('GET', lookup, undefined, {
    headers: inlineLogin(
      `auth/oidc/oidc/${path}`,
      { ...fields },
      { 'X-Vault-Inline-Auth-Operation': operation },
    ),
  })

test('a poll may be carried by the request: it waits, is served once, and is then lost', async () => {
  await using provider = await startSmallProvider()
  await using server = await withDirect(provider, { token_policies: 'app' })
  const { anonymous } = server
  const { login, state } = await begin(anonymous)
  const ask = (client_nonce = 'cn') => carrying(anonymous, 'poll', { state, client_nonce })

  expect(outcomeOf(await ask())).toEqual([400, 'authorization_pending', true])
  await confirmed(anonymous, state, provider.codeFor(login))
  const served = await ask()

  expect(served).toMatchObject({
    status: 200,
    body: {
      data: {
        path: 'auth/oidc/oidc/poll',
        display_name: 'oidc-bob',
        policies: ['app', 'default'],
        type: 'batch',
        id: '',
        accessor: '',
      },
    },
  })
  expect(served.headers).not.toHaveProperty('x-vault-inline-auth-failed')
  expect(outcomeOf(await ask())).toEqual([400, lostText, true])
})

test('a carried poll with a wrong nonce ends the login, and one that waits is no refused login', async () => {
  await using provider = await startSmallProvider()
  await using server = await withDirect(provider, {}, { settings: { LOGIN_FAILURES: '3/1m' } })
  const { anonymous } = server
  const { state } = await begin(anonymous)

  for (let asked = 0; asked < 8; asked++)
    expect(outcomeOf(await carrying(anonymous, 'poll', { state, client_nonce: 'cn' }))).toEqual([
      400,
      'authorization_pending',
      true,
    ])
  expect(await failuresOf(server)).toEqual([])

  expect(outcomeOf(await carrying(anonymous, 'poll', { state, client_nonce: 'x' }))).toEqual([
    400,
    'invalid client_nonce',
    true,
  ])
  expect(outcomeOf(await carrying(anonymous, 'poll', { state, client_nonce: 'cn' }))).toEqual([
    400,
    lostText,
    true,
  ])
})

test('a carried poll for a device asks the provider, and says `slow_down` to a client that is too fast', async () => {
  await using provider = await startSmallProvider()
  await using server = await withDevice(provider)
  const { anonymous } = server
  const [one, two] = [await begin(anonymous), await begin(anonymous)]
  const ask = (state: string) => carrying(anonymous, 'poll', { state, client_nonce: 'cn' })

  expect(outcomeOf(await ask(one.state))).toEqual([400, 'authorization_pending', true])
  expect(outcomeOf(await ask(one.state))).toEqual([400, 'slow_down', true])
  provider.deviceError = ''
  expect(outcomeOf(await ask(two.state))).toEqual([200, '', false])
})

test('a callback with a code may be carried by the request, once', async () => {
  await using provider = await startSmallProvider()
  await using server = await withDirect(provider, { callback_mode: 'client' })
  const { anonymous } = server
  const { login } = await begin(anonymous)
  const fields = { state: login.get('state'), code: provider.codeFor(login), client_nonce: 'cn' }

  const served = await carrying(anonymous, 'callback', fields, 'read')

  expect(served).toMatchObject({
    status: 200,
    body: { data: { path: 'auth/oidc/oidc/callback', display_name: 'oidc-bob', id: '' } },
  })
  expect(outcomeOf(await carrying(anonymous, 'callback', fields, 'read'))).toEqual([400, lostText, true])
})

test.each([
  [{}, '200 Confirm the login', pending],
  [{ oidc_disable_confirmation: true }, '400 undefined', 'ok'],
])(
  'the page of mode `direct` is no login for a request to carry, and counts like any page: %j',
  async (given, shown, atPoll) => {
    await using provider = await startSmallProvider()
    await using server = await withDirect(provider, given)
    const { anonymous } = server
    const { login, state } = await begin(anonymous)
    const code = provider.codeFor(login)

    const refused = await carrying(anonymous, 'callback', { state, code, client_nonce: 'cn' }, 'read')

    expect(outcomeOf(refused)).toEqual([403, 'permission denied', true])
    expect(title(await callback(anonymous, { state, code }))).toBe(shown)
    expect(await polled(anonymous, state)).toBe(atPoll)
  },
)

test('a carried poll is in the audit log as a login, without its state and the tokens of the provider', async () => {
  await using provider = await startSmallProvider()
  await using folder = await temporaryFolder()
  await using server = await withDirect(
    provider,
    { oauth2_metadata: ['access_token'] },
    { settings: { AUDIT_DIRS: folder.path } },
  )
  const { anonymous } = server
  const audit = await enableAuditFile(server.root, folder.file('audit.log'))
  const { login, state } = await begin(anonymous)
  const code = provider.codeFor(login)
  await confirmed(anonymous, state, code)

  const entries = await audit.during(async () => {
    expect((await carrying(anonymous, 'poll', { state, client_nonce: 'cn' })).status).toBe(200)
  })

  const metadata = { role: 'test', oauth2_access_token: expect.stringMatching(/^hmac-sha256:/) }
  const [asked] = entries
  const { id } = Object(asked?.['request'])
  expect(entries).toMatchObject([
    { type: 'request', request: { id, path: 'auth/oidc/oidc/poll', inline: true } },
    {
      type: 'response',
      request: { id, inline: true },
      response: { auth: { metadata, token_type: 'batch' } },
    },
    { type: 'request', request: { id, path: lookup }, auth: { metadata } },
    { type: 'response', request: { id, path: lookup } },
  ])
  for (const secret of [state, code, `at-${code}`]) expect(audit.text()).not.toContain(secret)
})
