import { expect, test } from 'vitest'
import { startIdentityProviders } from '../../../simulators/identity-providers/identity-providers.ts'
import { Okta, throttledByOkta } from '../../../simulators/identity-providers/okta.ts'
import { OutboundClient } from '../../../src/core/outbound/outbound.ts'
import { fetchOktaGroups, groupsFilter } from '../../../src/plugins/jwt-auth/directories/okta-groups.ts'
import { startDirectoryLogin, writeGroups } from './directory-login.ts'
import {
  logIn as flowLogin,
  verdict as flowVerdict,
  startSmallProvider,
  withFlow,
} from './oidc/small-provider.ts'
import { operatorVerdict } from './operator-verdict.ts'
import { startProvider } from './provider.ts'

const apiToken = '00stand-in-token'
const okta = {
  provider: 'okta',
  org_url: 'https://example.okta.com/ignored?x=1',
  api_token: apiToken,
  fetch_groups: true,
}
const failing = '400 failed to fetch groups: unable to fetch groups from Okta API: '
const asked = 'GET https://example.okta.com/api/v1/users/user1/groups'

test.each([
  { cap: 5, groups: ['a', 'b', 'c'], fetched: false },
  { cap: 3, groups: ['a', 'b', 'c'], fetched: true },
  { cap: 2, groups: ['a', 'b', 'c'], fetched: true },
  { cap: 5, groups: undefined, fetched: true },
  { cap: 2, groups: 'a', fetched: false },
  { cap: 0, groups: Array.from({ length: 99 }, (_, at) => `g${at}`), fetched: false },
  { cap: 0, groups: Array.from({ length: 100 }, (_, at) => `g${at}`), fetched: true },
])(
  'with a cap of $cap, a token with that many groups is not taken as complete: $fetched',
  async ({ cap, groups, fetched }) => {
    await using login = await startDirectoryLogin()
    login.providers.okta.groupsByUser.set('user1', ['from-okta'])
    await writeGroups(login.server, 'from-okta', 'a', 'g0')
    await login.configure({ ...okta, groups_cap: cap })

    expect(await login.logIn({ groups })).toBe('ok')
    expect((await login.groups()).includes('from-okta')).toBe(fetched)
    expect(login.providers.hosts.requests).toEqual(fetched ? [asked] : [])
  },
)

test('pages are followed, and groups without a name are skipped', async () => {
  await using login = await startDirectoryLogin({ role: { bound_claims: { groups: 'e' } } })
  const { okta: organisation, hosts } = login.providers
  organisation.groupsByUser.set('user1', ['a', 'b', '', 'd', 'e'])
  organisation.pageSize = 3
  await writeGroups(login.server, 'a', 'b', 'd', 'e', 'f')
  await login.configure(okta)

  expect(await login.logIn()).toBe('ok')
  expect(await login.groups()).toEqual(['a', 'b', 'd', 'e'])
  expect(hosts.requests).toEqual([asked, `${asked}?after=3`])
})

test("the id comes from user_id_claim or the role's user claim, and is escaped", async () => {
  await using login = await startDirectoryLogin()
  login.providers.okta.groupsByUser.set('a/b?c', ['g'])
  await login.configure({ ...okta, user_id_claim: '/ids/okta' })

  expect(await login.logIn({ ids: { okta: 'a/b?c' } })).toBe('ok')
  expect(login.providers.hosts.requests).toEqual([
    'GET https://example.okta.com/api/v1/users/a%2Fb%3Fc/groups',
  ])
  expect(await login.logIn()).toBe(`${failing}unable to locate "/ids/okta" in claims for Okta user lookup`)
  expect(await login.logIn({ ids: { okta: 5 } })).toBe(
    `${failing}claim "/ids/okta" is not a string; cannot use for Okta user lookup`,
  )
  expect(await login.logIn({ ids: { okta: '' } })).toBe(
    `${failing}claim "/ids/okta" is empty; cannot use for Okta user lookup`,
  )
})

test('an id that would change the path, or means the owner of the API token, is never sent', async () => {
  await using login = await startDirectoryLogin()
  login.providers.okta.groupsByUser.set('me', ['admins'])
  await login.configure(okta)

  for (const sub of ['.', '..', 'me', 'ME'])
    expect(await login.logIn({ sub })).toBe(
      `${failing}claim "sub" names nobody; cannot use for Okta user lookup`,
    )
  expect(login.providers.hosts.requests).toEqual([])
})

test.each([
  { filter: '^eng-', kept: ['eng-a', 'eng-b'] },
  { filter: 'b$', kept: ['b', 'eng-b'] },
  { filter: '(?i)ENG', kept: ['eng-a', 'eng-b'] },
  { filter: '^(?P<team>eng)-a$', kept: ['eng-a'] },
  { filter: 'nobody', kept: [] },
])("groups_filter $filter, in Go's syntax, keeps $kept", async ({ filter, kept }) => {
  await using login = await startDirectoryLogin()
  login.providers.okta.groupsByUser.set('user1', ['eng-a', 'eng-b', 'b'])
  await writeGroups(login.server, 'eng-a', 'eng-b', 'b')

  await login.configure({ provider: 'okta', groups_filter: filter })
  expect(await login.logIn({ groups: ['eng-a', 'eng-b', 'b', 5] })).toBe('ok')
  expect(await login.groups()).toEqual(kept)
  await login.configure({ ...okta, groups_filter: filter })
  expect(await login.logIn()).toBe('ok')
  expect(await login.groups()).toEqual(kept)
})

test.each([
  { name: 'open bracket', expression: '(' },
  { name: 'look-ahead', expression: 'a(?=b)' },
  { name: 'repeated without end', expression: '((((a{100}){100}){100}){100})' },
  { name: 'too long', expression: 'x'.repeat(1025) },
  { name: 'back reference', expression: '(a)\\1' },
])('an invalid groups_filter is refused: $name', ({ expression }) => {
  expect(groupsFilter(expression)).toEqual({ problem: expect.any(String) })
})

test('a filter takes time proportional to the length of the name', () => {
  const filter = groupsFilter('^(a+)+$|(x+x+)+y')
  if ('problem' in filter) throw new Error(filter.problem)

  expect(filter.matcher(`${'a'.repeat(50_000)}!`).find()).toBe(false)
  expect(filter.matcher('x'.repeat(50_000)).find()).toBe(false)
})

test('every failure is named, and refuses the login', async () => {
  await using login = await startDirectoryLogin()
  const { hosts, okta: organisation } = login.providers
  const host = 'example.okta.com'
  await login.configure(okta)
  const answer = (status: number, body: object | string, headers: Record<string, string> = {}) =>
    hosts.misbehave(host, { kind: 'answer', answer: { status, headers, body } }, 1)

  expect(await login.logIn()).toMatch(`${failing}okta api returned 404: {"errorCode":"E0000007"`)
  organisation.groupsByUser.set('user1', ['g'])
  await login.configure({ ...okta, api_token: 'wrong' })
  expect(await login.logIn()).toMatch(`${failing}okta api returned 401: {"errorCode":"E0000011"`)
  await login.configure(okta)
  for (const status of [401, 403, 500]) {
    answer(status, 'no')
    expect(await login.logIn()).toBe(`${failing}okta api returned ${status}: no`)
  }
  hosts.misbehave(host, { kind: 'answer', answer: throttledByOkta }, 1)
  expect(await login.logIn()).toMatch(`${failing}okta api returned 429: `)
  answer(200, '<html>')
  expect(await login.logIn()).toBe(`${failing}answer is not JSON`)
  answer(200, { profile: { name: 'g' } })
  expect(await login.logIn()).toBe(`${failing}okta api returned no list`)
  answer(200, [null, 5, { profile: 'x' }, { profile: { name: 5 } }])
  expect(await login.logIn()).toBe('ok')
  answer(200, [], { link: '<https://evil.example/next>; rel="next"' })
  expect(await login.logIn()).toBe(`${failing}the next page is at another host`)
  answer(200, [], { link: `<${asked.slice(4)}>; rel="next"` })
  expect(await login.logIn()).toBe(
    `${failing}okta API pagination exceeded 200 pages; possible circular Link header`,
  )
  hosts.misbehave(host, { kind: 'huge', bytes: 2 ** 20 }, 1)
  expect(await login.logIn()).toMatch(/larger than 1048576 bytes/)
  hosts.misbehave(host, { kind: 'cut' }, 1)
  expect(await login.logIn()).toMatch(failing)
})

test('more than 200 pages are too many', async () => {
  const { handle, groupsByUser, apiToken: token } = Object.assign(new Okta(), { pageSize: 1 })
  await using web = await startProvider()
  for (let page = 0; page <= 201; page++) {
    const path = `/api/v1/users/u/groups${page === 0 ? '' : `?after=${page}`}`
    web.routes.set(path, (answer, { headers }) => {
      const {
        status,
        headers: more = {},
        body,
      } = handle({ method: 'GET', url: new URL(path, web.url), headers, body: '' })
      answer.writeHead(status, more).end(JSON.stringify(body))
    })
  }
  const reach = {
    outbound: new OutboundClient({ deny: [] }),
    caPem: '',
    accessToken: '',
    signal: undefined,
    userClaim: 'sub',
    now: Date.now,
  }
  const fetch = () =>
    fetchOktaGroups({ sub: 'u' }, { origin: web.url, apiToken: token, userIdClaim: '' }, reach)

  groupsByUser.set(
    'u',
    Array.from({ length: 201 }, (_, at) => `g${at}`),
  )
  await expect(fetch()).rejects.toThrow('okta API pagination exceeded 200 pages')
  groupsByUser.get('u')?.pop()
  await expect(fetch()).resolves.toHaveLength(200)
})

test('a caller that disconnects ends the requests', async () => {
  const gone = new AbortController()
  await using web = await startProvider({ '/api/v1/users/u/groups': () => gone.abort() })
  const reach = {
    outbound: new OutboundClient({ deny: [] }),
    caPem: '',
    accessToken: '',
    signal: gone.signal,
    userClaim: 'sub',
    now: Date.now,
  }

  await expect(
    fetchOktaGroups({ sub: 'u' }, { origin: web.url, apiToken, userIdClaim: '' }, reach),
  ).rejects.toThrow('time limit exceeded')
})

test('without org_url the organisation comes from the discovery URL', async () => {
  await using login = await startDirectoryLogin()
  const { hosts } = login.providers
  // discovery fails at the stand-in, so the whole configuration is refused before its provider is checked
  hosts.misbehave('127.0.0.1', { kind: 'answer', answer: { status: 404, body: 'no' } }, 1)
  const given = {
    jwt_validation_pubkeys: [],
    oidc_discovery_url: `${hosts.url}/oauth2/default`,
    oidc_client_id: '',
    oidc_client_secret: '',
  }
  expect((await login.configure({ ...okta, org_url: undefined }, given)).body.errors).toEqual([
    'error checking oidc discovery URL: 404 Not Found, content type application/json; charset=UTF-8',
  ])

  hosts.misbehave(
    '127.0.0.1',
    { kind: 'answer', answer: { status: 200, body: { issuer: `${hosts.url}/oauth2/default` } } },
    1,
  )
  expect((await login.configure({ ...okta, org_url: '' }, given)).body['warnings']).toEqual([
    'no usable key at oidc_discovery_url: get keys failed: the discovery document names no jwks_uri',
  ])
})

test('a browser login asks in the same way, with the id from the merged claims', async () => {
  await using providers = await startIdentityProviders()
  await using provider = await startSmallProvider()
  providers.okta.groupsByUser.set('okta-7', ['eng'])
  const config = {
    provider_config: { ...okta, user_id_claim: 'uid' },
    oidc_discovery_ca_pem: providers.hosts.caPem,
  }
  const environment = { HTTPS_PROXY: providers.hosts.proxyUrl }
  await using server = await withFlow(provider, {
    config,
    environment,
    role: { groups_claim: 'groups', bound_claims: { groups: 'eng' } },
  })
  provider.userInfo = { body: { sub: 'bob', uid: 'okta-7' } }

  expect(flowVerdict(await flowLogin(server, provider))).toBe('ok')
  provider.userInfo = { body: { sub: 'bob', uid: 'nobody' } }
  const answer = await flowLogin(server, provider)
  expect(await operatorVerdict(server.root, 'auth/oidc', answer)).toMatch(`${failing}okta api returned 404: `)
})

test('explain shows the groups that a login would have', async () => {
  await using login = await startDirectoryLogin()
  login.providers.okta.groupsByUser.set('user1', ['eng', 'ops'])
  await writeGroups(login.server, 'ops')
  await login.configure(okta)

  const { body } = await login.server.root.write('auth/jwt/explain', { role: 'r', jwt: login.sign() })

  expect(body.data).toMatchObject({
    allowed: true,
    login: { groups: { claimed: ['eng', 'ops'], matched: [{ name: 'ops' }] } },
  })
})
