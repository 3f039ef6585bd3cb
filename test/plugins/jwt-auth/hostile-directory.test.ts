import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tls } from '../../../simulators/identity-providers/certificate.ts'
import { rounds } from '../../support/rounds.ts'
import { type DirectoryLogin, startDirectoryLogin } from './directory-login.ts'

const before = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...before, tls.cert]))
afterAll(() => setDefaultCACertificates(before))

/** JSON that resembles a directory's response, or any other JSON. */
const members = [
  'value',
  'groups',
  'email',
  'profile',
  'name',
  'nextPageToken',
  '@odata.nextLink',
  'customSchemas',
  '__proto__',
  'access_token',
]
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 5, 1e300, '', 'g', '\u0000', '\ud800'),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...members), tie('tree'), { maxKeys: 4 }),
  ),
}))
const answers = fc.record({
  status: fc.constantFrom(200, 200, 200, 204, 302, 401, 500),
  headers: fc.constantFrom<Record<string, string>>(
    {},
    { link: '<x' },
    { link: '<>; rel="next"' },
    { link: '<//evil.example>; rel=next' },
    { location: 'https://evil.example/' },
  ),
  body: fc.oneof(
    tree.map((value) => JSON.stringify(value)),
    fc.string(),
  ),
})

const providers: Record<string, (login: DirectoryLogin) => { host: string; config: object }> = {
  azure: () => ({ host: 'graph.microsoft.com', config: { provider: 'azure', fetch_groups: true } }),
  okta: ({ providers: { okta } }) => ({
    host: 'example.okta.com',
    config: {
      provider: 'okta',
      org_url: 'https://example.okta.com',
      api_token: okta.apiToken,
      fetch_groups: true,
    },
  }),
  gsuite: ({ providers: { google } }) => ({
    host: 'admin.googleapis.com',
    config: {
      provider: 'gsuite',
      gsuite_service_account: google.keyFile,
      gsuite_admin_impersonate: google.admin,
      fetch_groups: true,
      groups_recurse_max_depth: 2,
      fetch_user_info: true,
      user_custom_schemas: 'A',
    },
  }),
  'the sign-in at Google': ({ providers: { google } }) => ({
    host: 'oauth2.googleapis.com',
    config: {
      provider: 'gsuite',
      gsuite_service_account: google.keyFile,
      gsuite_admin_impersonate: google.admin,
      fetch_groups: true,
    },
  }),
}

test.each(Object.keys(providers))(
  'a login is either granted or refused, whatever %s responds',
  async (name) => {
    await using login = await startDirectoryLogin({ role: { bound_claims: { env: 'prod' } } })
    const { host, config } = providers[name]?.(login) ?? { host: '', config: {} }
    await login.configure(config)

    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        login.providers.hosts.misbehave(host, { kind: 'answer', answer }, 3)
        expect(await login.logIn({ env: 'prod' }, { distributed_claim_access_token: 't' })).toMatch(
          /^(?:ok|400 )/,
        )
        // a directory's response must not set other claims
        expect(await login.logIn({}, { distributed_claim_access_token: 't' })).toMatch(/^400 /)
      }),
      { numRuns: 16 * rounds },
    )
    expect(login.providers.hosts.requests.every((request) => !request.includes('evil'))).toBe(true)
  },
)

test.each([
  { name: 'with a line end', token: 'a\r\nX-Evil: 1' },
  { name: 'with a letter no header has', token: 'ü\u0100' },
  { name: 'with a zero byte', token: '\0' },
  { name: 'longer than a head may be', token: 'x'.repeat(70_000) },
])('an invalid access token is refused: $name', async ({ token }) => {
  await using login = await startDirectoryLogin()
  await login.configure({ provider: 'azure', fetch_groups: true })

  expect(await login.logIn({}, { distributed_claim_access_token: token })).toMatch(
    /^400 failed to fetch groups: /,
  )
})

test.each([
  {
    host: 'example.okta.com',
    config: {
      provider: 'okta',
      org_url: 'https://example.okta.com',
      api_token: '00stand+in"token',
      fetch_groups: true,
    },
  },
  { host: 'graph.microsoft.com', config: { provider: 'azure', fetch_groups: true } },
])('a directory that echoes its request reveals no secret: $host', async ({ host, config }) => {
  await using login = await startDirectoryLogin()
  await login.configure(config)
  const body = `you sent ${JSON.stringify({ authorization: 'SSWS 00stand+in"token', or: 'Bearer at-of-somebody' })} 00stand+in"token at-of-somebody`
  login.providers.hosts.misbehave(host, { kind: 'answer', answer: { status: 500, body } }, 1)

  const answer = await login.logIn({}, { distributed_claim_access_token: 'at-of-somebody' })

  expect(answer).toMatch(/^400 failed to fetch groups: .*you sent/)
  expect(answer).not.toContain(host === 'graph.microsoft.com' ? 'at-of' : '00stand')
})
