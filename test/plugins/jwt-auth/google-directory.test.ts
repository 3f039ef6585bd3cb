import { rm, writeFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tls } from '../../../simulators/identity-providers/certificate.ts'
import { throttledByGoogle } from '../../../simulators/identity-providers/google.ts'
import { startIdentityProviders } from '../../../simulators/identity-providers/identity-providers.ts'
import { OutboundClient, type OutboundOptions } from '../../../src/core/outbound/outbound.ts'
import { fetchGoogleGroups } from '../../../src/plugins/jwt-auth/directories/google-directory.ts'
import { GatedClient } from '../../../src/plugins/jwt-auth/login/gated-client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type DirectoryLogin, startDirectoryLogin, writeGroups } from './directory-login.ts'
import { startProvider } from './provider.ts'

// the system's roots vouch for Google
const before = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...before, tls.cert]))
afterAll(() => setDefaultCACertificates(before))

const failing = '400 failed to fetch groups: '
const admin = 'https://admin.googleapis.com/admin/directory/v1'

/** `user1` is in `group1`, that in `group2`, that in `group3`. */
function writeDirectory({ providers: { google } }: DirectoryLogin): void {
  google.groupsByMember.set('user1', ['group1'])
  google.groupsByMember.set('group1', ['group2'])
  google.groupsByMember.set('group2', ['group3', 'group1'])
  google.groupsByMember.set('group3', [])
  google.schemasByUser.set('user1', { Preferences: { shirt_size: 'medium' }, Secret: { pin: 1 } })
}

const optionsOf = ({ providers: { google } }: DirectoryLogin) => ({
  provider: 'gsuite',
  gsuite_service_account: google.keyFile,
  gsuite_admin_impersonate: google.admin,
})

test.each([
  { depth: 0, groups: ['group1'] },
  { depth: 1, groups: ['group1', 'group2'] },
  { depth: 10, groups: ['group1', 'group2', 'group3'] },
])('groups of groups are followed $depth levels up', async ({ depth, groups }) => {
  await using login = await startDirectoryLogin()
  writeDirectory(login)
  await writeGroups(login.server, 'group1', 'group2', 'group3')
  await login.configure({ ...optionsOf(login), fetch_groups: true, groups_recurse_max_depth: depth })

  expect(await login.logIn({ groups: ['of the token'] })).toBe('ok')
  expect(await login.groups()).toEqual(groups)
})

test('a user key that would change the path is never sent', async () => {
  await using login = await startDirectoryLogin()
  writeDirectory(login)
  await login.configure({ ...optionsOf(login), fetch_user_info: true, user_custom_schemas: 'Preferences' })

  for (const sub of ['.', '..']) expect(await login.logIn({ sub })).toBe('400 claim "sub" names nobody')
  expect(login.providers.hosts.requests.filter((request) => request.startsWith(`GET ${admin}`))).toEqual([])
})

test('bound claims and mappings see groups and custom schemas', async () => {
  const role = {
    bound_claims: { groups: 'group2', '/Preferences/shirt_size': 'medium' },
    claim_mappings: { '/Preferences/shirt_size': 'size' },
  }
  await using login = await startDirectoryLogin({ role })
  writeDirectory(login)
  const options = {
    ...optionsOf(login),
    fetch_groups: true,
    groups_recurse_max_depth: 2,
    fetch_user_info: true,
  }
  await login.configure({ ...options, user_custom_schemas: 'Preferences,Other' })

  expect(await login.logIn()).toBe('ok')
  expect(login.providers.hosts.requests.filter((request) => request.includes('/users/'))).toEqual([
    `GET ${admin}/users/user1?projection=custom&customFieldMask=Preferences%2COther&fields=customSchemas`,
  ])
  await login.configure(options)
  expect(await login.logIn()).toBe('400 error validating claims: claim "/Preferences/shirt_size" is missing')
})

test('a read never returns the key', async () => {
  await using login = await startDirectoryLogin()
  await login.configure({ ...optionsOf(login), fetch_groups: true })

  const { body, text } = await login.server.root.read('auth/jwt/config')

  expect(body.data?.['provider_config']).toEqual({
    provider: 'gsuite',
    gsuite_admin_impersonate: login.providers.google.admin,
    fetch_groups: true,
  })
  expect(text).not.toContain('private_key')
})

test('the request contains the domain', async () => {
  await using login = await startDirectoryLogin()
  login.providers.google.groupsByMember.set('user1', ['a@example.com', 'b@other.com'])
  await writeGroups(login.server, 'a@example.com', 'b@other.com')
  await login.configure({ ...optionsOf(login), fetch_groups: true, domain: 'example.com' })

  expect(await login.logIn()).toBe('ok')
  expect(await login.groups()).toEqual(['a@example.com'])
  expect(login.providers.hosts.requests.at(-1)).toBe(
    `GET ${admin}/groups?userKey=user1&domain=example.com&fields=nextPageToken%2Cgroups%28email%29`,
  )
})

test('all pages are read', async () => {
  await using login = await startDirectoryLogin({ role: { bound_claims: { groups: 'g449' } } })
  const { google, hosts } = login.providers
  google.groupsByMember.set(
    'user1',
    Array.from({ length: 450 }, (_, at) => `g${at}`),
  )
  await login.configure({ ...optionsOf(login), fetch_groups: true })

  expect(await login.logIn()).toBe('ok')
  expect(hosts.requests.filter((request) => request.includes('/groups?'))).toHaveLength(3)
})

testOfOneServer(
  'one access token serves the logins of an hour, and one that was revoked early is replaced',
  async () => {
    const clock = new FakeClock()
    await using login = await startDirectoryLogin({ clock, now: () => clock.now() })
    const { google, hosts } = login.providers
    writeDirectory(login)
    await login.configure({ ...optionsOf(login), fetch_groups: true })
    const signIns = () => hosts.requests.filter((request) => request.endsWith('/token')).length

    await Promise.all([login.logIn(), login.logIn(), login.logIn()])
    expect(signIns()).toBe(1)
    clock.advance(3500)
    expect(await login.logIn()).toBe('ok')
    expect(signIns()).toBe(1)
    clock.advance(60)
    expect(await login.logIn()).toBe('ok')
    expect(signIns()).toBe(2)
    google.revokeTokens()
    expect(await login.logIn()).toBe(
      `${failing}googleapi: Error 401: Request had invalid authentication credentials.`,
    )
    expect(await login.logIn()).toBe('ok')
    expect(signIns()).toBe(3)
  },
)

test('the user claim is read as a pointer whatever the role says, and must be a string', async () => {
  await using login = await startDirectoryLogin({ role: { user_claim: '/id/mail' } })
  writeDirectory(login)
  await login.configure({ ...optionsOf(login), fetch_groups: true })

  expect(await login.logIn({ '/id/mail': 'alias', id: { mail: 'user1' } })).toBe('ok')
  expect(await login.logIn({ '/id/mail': 'alias' })).toBe(`${failing}unable to locate "/id/mail" in claims`)
  expect(await login.logIn({ '/id/mail': 'alias', id: { mail: 5 } })).toBe(
    `${failing}claim "/id/mail" could not be converted to string`,
  )
})

test('without fetch_groups, groups in the token are ignored too', async () => {
  await using login = await startDirectoryLogin()
  await login.configure(optionsOf(login))

  expect(await login.logIn({ groups: ['a'] })).toBe(`${failing}"groups" claim not found in token`)
})

test('every failure is named, and refuses the login', async () => {
  await using login = await startDirectoryLogin()
  const { hosts, google } = login.providers
  await login.configure({ ...optionsOf(login), fetch_groups: true })
  const answer = (body: object | string, status = 200) =>
    hosts.misbehave('admin.googleapis.com', { kind: 'answer', answer: { status, body } }, 1)

  expect(await login.logIn()).toBe(`${failing}googleapi: Error 404: Resource Not Found: userKey`)
  writeDirectory(login)
  hosts.misbehave('admin.googleapis.com', { kind: 'answer', answer: throttledByGoogle }, 1)
  expect(await login.logIn()).toMatch(`${failing}googleapi: Error 429: Quota exceeded`)
  answer('<html>', 500)
  expect(await login.logIn()).toBe(`${failing}googleapi: got HTTP response code 500: <html>`)
  answer('<html>')
  expect(await login.logIn()).toBe(`${failing}answer is not JSON`)
  answer({ groups: 'x' })
  expect(await login.logIn()).toBe(`${failing}groups of the answer are no list`)
  answer({ groups: [{ email: 5 }, null] })
  expect(await login.logIn()).toBe('ok')
  hosts.misbehave(
    'admin.googleapis.com',
    { kind: 'answer', answer: { status: 200, body: { nextPageToken: 'again' } } },
    2,
  )
  expect(await login.logIn()).toBe(`${failing}pages of the answer go round in a circle`)
  hosts.misbehave('admin.googleapis.com', { kind: 'huge', bytes: 2 ** 20 }, 1)
  expect(await login.logIn()).toMatch(/larger than 1048576 bytes/)
  hosts.misbehave('admin.googleapis.com', { kind: 'cut' }, 1)
  expect(await login.logIn()).toMatch(failing)
  google.pageSize = 1
  google.groupsByMember.set(
    'user1',
    Array.from({ length: 101 }, (_, at) => `g${at}`),
  )
  expect(await login.logIn()).toBe(`${failing}asked 100 times, and there is more`)
})

test('an account that may not sign in, or not as this administrator, gets nothing', async () => {
  await using login = await startDirectoryLogin()
  writeDirectory(login)
  const go = async (more: object) => {
    await login.configure({ ...optionsOf(login), fetch_groups: true, ...more })
    return login.logIn()
  }
  const { private_key: _, ...keyless } = JSON.parse(login.providers.google.keyFile)

  expect(await go({ gsuite_admin_impersonate: 'mallory@example.com' })).toMatch(
    /^400 failed to fetch groups: oauth2: cannot fetch token: 401 .*unauthorized_client/s,
  )
  expect(await go({ gsuite_admin_impersonate: '' })).toBe(
    `${failing}googleapi: Error 403: Not Authorized to access this resource/api`,
  )
  expect(await go({ gsuite_service_account: '{"type":"service_account"}' })).toBe(
    `${failing}the service account has no usable private key`,
  )
  expect(await go({ gsuite_service_account: JSON.stringify(keyless) })).toBe(
    `${failing}the service account has no usable private key`,
  )
  login.providers.hosts.misbehave(
    'oauth2.googleapis.com',
    { kind: 'answer', answer: { status: 200, body: { token_type: 'Bearer' } } },
    1,
  )
  expect(await go({})).toBe(`${failing}oauth2: server response missing access_token`)
  expect(await login.logIn()).toBe('ok')
})

test('a user-info hook that fails ends the login in its own words', async () => {
  await using login = await startDirectoryLogin({ role: { groups_claim: '' } })
  await login.configure({ ...optionsOf(login), fetch_user_info: true, user_custom_schemas: 'A' })

  expect(await login.logIn()).toBe('400 googleapi: Error 404: Resource Not Found: userKey')
})

test('a key may be in a file, and a missing file is reported', async () => {
  await using login = await startDirectoryLogin()
  writeDirectory(login)
  await using folder = await temporaryFolder()
  const path = folder.file('key.json')
  await writeFile(path, login.providers.google.keyFile)
  const options = { ...optionsOf(login), gsuite_service_account: path, fetch_groups: true }
  const refused =
    'invalid provider_config: error initializing "gsuite" provider_config: error parsing service account JSON: '

  expect((await login.configure(options)).status).toBe(204)
  expect(await login.logIn()).toBe('ok')
  for (const gsuite_service_account of [
    'no json',
    folder.path,
    '/dev/zero',
    '/etc/hostname',
    '/etc/shadow',
    'a\0b',
    '[]',
    ' ',
  ])
    expect((await login.configure({ ...options, gsuite_service_account })).body.errors).toEqual([
      `${refused}neither JSON nor a file with the key of a service account`,
    ])
  for (const gsuite_service_account of ['{"type":"authorized_user"}', '{}', '{'])
    expect((await login.configure({ ...options, gsuite_service_account })).body.errors?.[0]).toMatch(refused)
  await rm(path)
  expect(await login.logIn()).toMatch(
    '400 failed to load custom provider config: error initializing "gsuite" provider_config: ',
  )
  expect((await login.server.root.read('auth/jwt/config')).status).toBe(500)
})

/** A machine on Google Cloud, whose metadata server is `machineUrl`. */
class MachineOutbound extends OutboundClient {
  readonly #machineUrl: string

  constructor(machineUrl: string, httpsProxy: string) {
    super({ deny: [], httpsProxy })
    this.#machineUrl = machineUrl
  }

  override get(url: string, options?: OutboundOptions) {
    return super.get(url.replace('http://metadata.google.internal', this.#machineUrl), options)
  }
}

test.each([
  { name: 'acting for an administrator', principal: 'itself', admin: true, outcome: ['group1'] },
  { name: 'acting for nobody', principal: 'itself', admin: false, outcome: /Not Authorized/ },
  {
    name: 'acting as another',
    principal: 'other@stand-in.iam.gserviceaccount.com',
    admin: true,
    outcome: /^failed to impersonate principal: "other@.*not found/,
  },
  { name: 'as it is', principal: '', admin: true, outcome: /Not Authorized/ },
])('without a key, the credentials of the machine are used: $name', async ({ principal, admin, outcome }) => {
  await using providers = await startIdentityProviders()
  const { google, hosts } = providers
  google.groupsByMember.set('user1', ['group1'])
  await using machine = await startProvider()
  const path = '/computeMetadata/v1/instance/service-accounts/default/token'
  const answerFor = (query: string) => {
    machine.routes.set(path + query, (answer, { headers, url = '' }) => {
      const { status, body } = google.metadata({
        method: 'GET',
        url: new URL(url, machine.url),
        headers,
        body: '',
      })
      answer.writeHead(status).end(JSON.stringify(body))
    })
  }
  const scope = (name: string) => encodeURIComponent(`https://www.googleapis.com/auth/${name}`)
  answerFor(`?scopes=${scope('cloud-platform')}`)
  answerFor(
    `?scopes=${scope('admin.directory.group.readonly')}${encodeURIComponent(',')}${scope('admin.directory.user.readonly')}`,
  )
  const options = {
    serviceAccount: '',
    adminImpersonate: admin ? google.admin : '',
    impersonatePrincipal: principal === 'itself' ? google.email : principal,
    domain: '',
    maxDepth: 0,
    customSchemas: '',
  }
  const outbound = new MachineOutbound(machine.url, hosts.proxyUrl)
  const reach = { outbound, caPem: '', accessToken: '', signal: undefined, userClaim: 'sub', now: Date.now }

  const groups = fetchGoogleGroups({ sub: 'user1' }, options, reach)

  if (Array.isArray(outcome)) await expect(groups).resolves.toEqual(outcome)
  else await expect(groups).rejects.toThrow(outcome)
})

test('a blocked sign-in for unverified claims does not make other logins fail', async () => {
  await using providers = await startIdentityProviders()
  const { google, hosts } = providers
  google.groupsByMember.set('user1', ['group1'])
  const options = {
    serviceAccount: google.keyFile,
    adminImpersonate: google.admin,
    impersonatePrincipal: '',
    domain: '',
    maxDepth: 0,
    customSchemas: '',
  }
  const outbound = new OutboundClient({ deny: [], httpsProxy: hosts.proxyUrl })
  const reach = { outbound, caPem: '', accessToken: '', signal: undefined, userClaim: 'sub', now: Date.now }

  const [explained, loggedIn] = await Promise.allSettled([
    fetchGoogleGroups({ sub: 'user1' }, options, {
      ...reach,
      outbound: new GatedClient(outbound, () => false),
    }),
    fetchGoogleGroups({ sub: 'user1' }, options, reach),
  ])

  expect(explained).toMatchObject({
    status: 'rejected',
    reason: { message: 'no request is sent for claims without a valid signature' },
  })
  expect(loggedIn).toEqual({ status: 'fulfilled', value: ['group1'] })
})

test('a machine without credentials gets an error that says so', async () => {
  await using machine = await startProvider()
  const outbound = new MachineOutbound(machine.url, '')
  const reach = { outbound, caPem: '', accessToken: '', signal: undefined, userClaim: 'sub', now: Date.now }
  const options = {
    serviceAccount: '',
    adminImpersonate: 'a',
    impersonatePrincipal: '',
    domain: '',
    maxDepth: 0,
    customSchemas: '',
  }

  await expect(fetchGoogleGroups({ sub: 'user1' }, options, reach)).rejects.toThrow(
    'failed to find application default credentials: ',
  )
})
