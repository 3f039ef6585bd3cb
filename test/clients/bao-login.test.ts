import { expect, test } from 'vitest'
import { buttonsOf, confirmed, withDevice, withDirect } from '../plugins/jwt-auth/oidc/polled-login.ts'
import {
  callback,
  postForm,
  type SmallProvider,
  startSmallProvider,
} from '../plugins/jwt-auth/oidc/small-provider.ts'
import type { TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bao, baoIsSkipped, type Ended, install } from './bao.ts'

/*
 * What a person sees who types `bao login -method=oidc`, in the modes in which the command polls.
 */

/** Logs in with the role `test`; `visit` is what the person does with the address that the command prints. */
async function loggedIn(
  server: TestServer,
  mode: string,
  visit: (url: URL) => Promise<unknown>,
): Promise<Ended> {
  await using folder = await temporaryFolder()
  let visited: Promise<unknown> | undefined
  const args = ['-format=json', '-method=oidc', 'role=test', 'skip_browser=true', `callbackmode=${mode}`]
  const ended = await bao(['login', ...args], {
    server: server.url,
    home: folder.path,
    onTold: (told) => {
      const [url] = /https?:\/\/\S+/.exec(told) ?? []
      if (url !== undefined) visited ??= visit(new URL(url))
    },
  })
  await visited
  return ended
}

const withToken = { code: 0, stdout: expect.stringContaining('"policies"') }

/** The redirect URI that the command makes up is the callback of its server. */
async function directServer(provider: SmallProvider): Promise<TestServer> {
  const server = await withDirect(provider, { poll_interval: 1 })
  await server.root.write('auth/oidc/role/test', {
    callback_mode: 'direct',
    allowed_redirect_uris: `${server.url}/v1/auth/oidc/oidc/callback`,
  })
  return server
}

const stateOf = (login: URL) => login.searchParams.get('state') ?? ''

test('in mode `direct`, `bao login` gets the token when the person has confirmed', async ({ skip }) => {
  skip(baoIsSkipped, install)
  await using provider = await startSmallProvider()
  await using server = await directServer(provider)

  const ended = await loggedIn(server, 'direct', (login) =>
    confirmed(server.anonymous, stateOf(login), provider.codeFor(login.searchParams)),
  )

  expect(ended).toMatchObject(withToken)
})

test('in mode `direct`, `bao login` says that the person refused', async ({ skip }) => {
  skip(baoIsSkipped, install)
  await using provider = await startSmallProvider()
  await using server = await directServer(provider)

  const ended = await loggedIn(server, 'direct', async (login) => {
    const code = provider.codeFor(login.searchParams)
    const asked = await callback(server.anonymous, { state: stateOf(login), code })
    await postForm(server.anonymous, buttonsOf(asked).refuse)
  })

  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Vault login failed. The login was refused in the browser.'),
  })
})

test('in mode `device`, `bao login` shows the code, and gets the token when the person has signed in', async ({
  skip,
}) => {
  skip(baoIsSkipped, install)
  await using provider = await startSmallProvider()
  await using server = await withDevice(provider, { poll_interval: 1 })
  const token = provider.web.routes.get('/token')
  if (typeof token !== 'function') throw new Error('the provider has no token endpoint')
  provider.web.routes.set('/token', async (answer, request) => {
    await token(answer, request)
    provider.deviceError = ''
  })
  let shown = ''

  const ended = await loggedIn(server, 'device', async ({ href }) => {
    shown = href
  })

  expect(ended).toMatchObject({ ...withToken, stderr: expect.stringContaining('ABCD-EF') })
  expect(shown).toBe(`${provider.url}/verify`)
  expect(provider.tokenCalls.length).toBe(2)
})

test('in mode `device`, `bao login` says that the provider refused', async ({ skip }) => {
  skip(baoIsSkipped, install)
  await using provider = await startSmallProvider()
  await using server = await withDevice(provider, { poll_interval: 1 })
  provider.deviceError = 'access_denied'

  const ended = await loggedIn(server, 'device', async () => {})

  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('authorization failed: access_denied'),
  })
})
