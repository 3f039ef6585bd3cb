import { expect, test } from 'vitest'
import { throttledByGraph } from '../../../simulators/identity-providers/graph.ts'
import { startDirectoryLogin, writeGroups } from './directory-login.ts'

const fetching = { provider: 'azure', fetch_groups: true }
const failing = '400 failed to fetch groups: unable to fetch groups from Microsoft Graph API: '
const token = { distributed_claim_access_token: 'at-1' }
const ids = (count: number) => Array.from({ length: count }, (_, at) => `group-${at}`)

test('fetch_groups asks Graph for all groups, whatever the token says', async () => {
  await using login = await startDirectoryLogin({ role: { bound_claims: { groups: 'group-449' } } })
  login.providers.graph.groupsByToken.set('at-1', ids(450))
  await writeGroups(login.server, 'group-0', 'group-449', 'other')
  await login.configure(fetching)

  expect(await login.logIn({ groups: ['other'] }, token)).toBe('ok')
  expect(await login.groups()).toEqual(['group-0', 'group-449'])
  expect(login.providers.hosts.requests).toEqual([
    'POST https://graph.microsoft.com/v1.0/me/getMemberObjects',
  ])
})

test('all pages of a response are read', async () => {
  await using login = await startDirectoryLogin({ role: { bound_claims: { groups: 'group-449' } } })
  login.providers.graph.groupsByToken.set('at-1', ids(450))
  login.providers.graph.pageSize = 100
  await login.configure(fetching)

  expect(await login.logIn({}, token)).toBe('ok')
  expect(login.providers.hosts.requests).toHaveLength(5)
})

test.each([
  [
    'https://graph.windows.net/t1/users/u1/getMemberObjects',
    'POST https://graph.microsoft.com/v1.0/t1/users/u1/getMemberObjects',
  ],
  [
    'https://graph.microsoftazure.us/t1/users/u1/getMemberObjects',
    'POST https://graph.microsoft.us/v1.0/t1/users/u1/getMemberObjects',
  ],
  [
    'https://graph.microsoft.com/v1.0/users/u1/getMemberObjects',
    'POST https://graph.microsoft.com/v1.0/users/u1/getMemberObjects',
  ],
])('a token that refers to %s is followed to the current address', async (endpoint, asked) => {
  await using login = await startDirectoryLogin({ role: { bound_claims: { groups: 'group-1' } } })
  login.providers.graph.groupsByToken.set('at-1', ids(2))
  await login.configure({ provider: 'azure' })

  expect(
    await login.logIn({ _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint } } }, token),
  ).toBe('ok')
  expect(login.providers.hosts.requests).toEqual([asked])
})

test('every failure is named, and refuses the login', async () => {
  await using login = await startDirectoryLogin()
  const { hosts, graph } = login.providers
  graph.groupsByToken.set('at-1', ['g'])
  await login.configure(fetching)
  const next = (link: string) =>
    ({ kind: 'answer', answer: { status: 200, body: { value: ['g'], '@odata.nextLink': link } } }) as const

  expect(await login.logIn({ groups: ['g'] })).toBe(
    `${failing}access token is empty. Cannot call Microsoft Graph API`,
  )
  expect(await login.logIn({}, { distributed_claim_access_token: 'stolen' })).toMatch(
    `${failing}failed to get groups: {"error":{"code":"InvalidAuthenticationToken"`,
  )
  hosts.misbehave('graph.microsoft.com', { kind: 'answer', answer: throttledByGraph }, 1)
  expect(await login.logIn({}, token)).toMatch(
    `${failing}failed to get groups: {"error":{"code":"TooManyRequests"`,
  )
  hosts.misbehave('graph.microsoft.com', { kind: 'answer', answer: { status: 200, body: '<html>' } }, 1)
  expect(await login.logIn({}, token)).toBe(`${failing}unabled to decode response: not a JSON object`)
  hosts.misbehave('graph.microsoft.com', { kind: 'cut' }, 1)
  expect(await login.logIn({}, token)).toMatch(`${failing}unable to call Microsoft Graph API: `)
  hosts.misbehave('graph.microsoft.com', { kind: 'huge', bytes: 2 ** 20 }, 1)
  expect(await login.logIn({}, token)).toMatch(/larger than 1048576 bytes/)
  hosts.misbehave('graph.microsoft.com', next('https://evil.example/steal'), 1)
  expect(await login.logIn({}, token)).toBe(`${failing}the next page is at another host`)
  hosts.misbehave(
    'graph.microsoft.com',
    next('https://graph.microsoft.com/v1.0/me/getMemberObjects?$skiptoken=0'),
  )
  expect(await login.logIn({}, token)).toMatch(/asked 100 times, and there is more/)
  hosts.misbehave(
    'graph.microsoft.com',
    { kind: 'answer', answer: { status: 200, body: { value: ids(20_001) } } },
    1,
  )
  expect(await login.logIn({}, token)).toMatch(/more than 20000 groups/)
  hosts.misbehave('graph.microsoft.com', { kind: 'silent' }, 0)
  expect(await login.logIn({}, token)).toBe('ok')
})

test('only certificates in the configuration are trusted, if it has any', async () => {
  await using login = await startDirectoryLogin()
  login.providers.graph.groupsByToken.set('at-1', ['g'])
  await login.configure(fetching, { oidc_discovery_ca_pem: '' })

  expect(await login.logIn({}, token)).toMatch(/unable to call Microsoft Graph API: .*certificate/)
})
