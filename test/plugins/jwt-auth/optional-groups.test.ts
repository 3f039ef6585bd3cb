import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'
import { startDirectoryLogin, writeGroups } from './directory-login.ts'
import { logIn, startSmallProvider, verdict, withFlow } from './oidc/small-provider.ts'
import { aSigner } from './signer.ts'

const optional = { groups_claim_optional: true }
const missing = '400 failed to fetch groups: "groups" claim not found in token'

describe('a token without the groups claim', () => {
  test.each([
    { name: 'no provider', config: {} },
    { name: 'azure', config: { provider: 'azure' } },
    { name: 'okta', config: { provider: 'okta' } },
    { name: 'ibmisam', config: { provider: 'ibmisam' } },
    { name: 'gsuite that does not ask', config: { provider: 'gsuite' } },
  ])('counts as one without groups if the role says so: $name', async ({ config }) => {
    await using login = await startDirectoryLogin({ role: optional })
    await writeGroups(login.server, 'a')
    await login.configure(config)

    expect(await login.logIn({ groups: config.provider === 'gsuite' ? undefined : ['a'] })).toBe('ok')
    if (config.provider !== 'gsuite') expect(await login.groups()).toEqual(['a'])
    for (const claims of [{}, { groups: null }]) {
      expect(await login.logIn(claims)).toBe('ok')
      expect(await login.groups()).toEqual([])
    }
    expect(login.providers.hosts.requests).toEqual([])
    await login.server.root.write('auth/jwt/role/r', { role_type: 'jwt', groups_claim_optional: false })
    expect(await login.logIn()).toMatch(/^400 failed to fetch groups: /)
  })

  test.each([
    {
      name: 'of the wrong type',
      claims: { groups: { a: 1 } },
      told: /could not be converted to string list/,
    },
    {
      name: 'that are elsewhere',
      claims: { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'x' } } },
      told: missing,
    },
    { name: 'that are too many to be listed', claims: { hasgroups: true }, told: missing },
    { name: 'that are too many to be listed, as a text', claims: { hasgroups: 'true' }, told: missing },
  ])('does not count as one without groups if it refers to groups $name', async ({ claims, told }) => {
    await using server = await borrowServer()
    const signer = aSigner('ES256')
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('auth/jwt/role/r', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_subject: 'b',
      groups_claim: 'groups',
      ...optional,
    })
    const jwt = signer.sign({ sub: 'b', iat: Math.floor(Date.now() / 1000), ...claims })

    expect(verdict(await server.anonymous.write('auth/jwt/login', { role: 'r', jwt }))).toMatch(told)
  })

  test('is refused if the role binds groups', async () => {
    await using login = await startDirectoryLogin({ role: { ...optional, bound_claims: { groups: 'a' } } })
    await login.configure({})

    expect(await login.logIn({ groups: ['a'] })).toBe('ok')
    expect(await login.logIn()).toBe('400 error validating claims: claim "groups" is missing')
  })

  test('a directory that fails still refuses the login', async () => {
    await using login = await startDirectoryLogin({ role: optional })
    await login.configure({
      provider: 'okta',
      org_url: 'https://example.okta.com',
      api_token: 'x',
      fetch_groups: true,
    })

    expect(await login.logIn()).toMatch(/^400 failed to fetch groups: unable to fetch groups from Okta API: /)
  })

  test('a browser login, and a claim behind a JSON pointer, behave the same', async () => {
    await using provider = await startSmallProvider()
    await using server = await withFlow(provider, {
      role: { ...optional, groups_claim: '/realm_access/roles' },
    })

    expect(verdict(await logIn(server, provider))).toBe('ok')
    expect(verdict(await logIn(server, provider, { realm_access: {} }))).toBe('ok')
    expect(verdict(await logIn(server, provider, { realm_access: { roles: [5] } }))).toMatch(
      /^400 value 5 in groups claim/,
    )
  })
})

test('the option is read back, kept by writes that leave it out, and idle without groups_claim', async () => {
  await using server = await borrowServer()
  const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'b' }
  await server.root.write('auth/jwt/role/r', { ...role, ...optional })
  await server.root.write('auth/jwt/role/r', { ...role, bound_subject: 'c' })

  expect((await server.root.read('auth/jwt/role/r')).body.data).toMatchObject({
    groups_claim_optional: true,
    bound_subject: 'c',
  })
  expect(
    (await server.root.write('auth/jwt/role/r', { ...role, groups_claim_optional: 'maybe' })).status,
  ).toBe(400)
  const { body } = await server.root.read('auth/jwt/lint')
  expect(body.data?.['findings']).toContainEqual(
    expect.objectContaining({ code: 'no_effect', field: 'groups_claim_optional' }),
  )
})
