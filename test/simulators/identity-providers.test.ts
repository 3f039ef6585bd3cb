import { expect, test } from 'vitest'
import { startIdentityProviders } from '../../simulators/identity-providers/identity-providers.ts'
import { OutboundClient } from '../../src/core/outbound/outbound.ts'

/** Asks the hosts by their own names, as a server behind the proxy does. */
async function asking() {
  const providers = await startIdentityProviders()
  const client = new OutboundClient({ deny: [], httpsProxy: providers.hosts.proxyUrl })
  const { caPem } = providers.hosts
  const get = async (url: string, authorization = '') => {
    const { status, headers, body } = await client.get(url, { caPem, headers: { authorization } })
    return { status, headers, body: JSON.parse(body.toString()) }
  }
  const post = async (url: string, body: string, headers: Record<string, string>) => {
    const answer = await client.post(url, body, { caPem, headers })
    return { status: answer.status, body: JSON.parse(answer.body.toString()) }
  }
  return { ...providers, get, post }
}

test('the stand-ins require what the real providers require', async () => {
  await using world = await asking()
  const json = { 'content-type': 'application/json' }
  const me = 'https://graph.microsoft.com/v1.0/me/getMemberObjects'
  world.graph.groupsByToken.set('t', ['g'])

  expect((await world.post(me, '{"securityEnabledOnly":false}', json)).status).toBe(401)
  expect((await world.post(me, '{}', { ...json, authorization: 'Bearer t' })).status).toBe(400)
  expect(
    (await world.post(me, '{"securityEnabledOnly":false}', { ...json, authorization: 'Bearer t' })).body,
  ).toMatchObject({ value: ['g'] })
  expect(
    (await world.get('https://example.okta.com/api/v1/users/u/groups', 'SSWS wrong')).body,
  ).toMatchObject({ errorCode: 'E0000011' })
  expect(
    (await world.get('https://admin.googleapis.com/admin/directory/v1/groups?userKey=u', 'Bearer wrong'))
      .status,
  ).toBe(401)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const grant = 'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c'
  expect(await world.post('https://oauth2.googleapis.com/token', grant, form)).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  })
})

test("Okta's pages link to the next one", async () => {
  await using world = await asking()
  world.okta.groupsByUser.set('u', ['a', 'b', 'c'])
  world.okta.pageSize = 2
  const first = await world.get(
    'https://example.okta.com/api/v1/users/u/groups',
    `SSWS ${world.okta.apiToken}`,
  )

  expect(first.body).toHaveLength(2)
  expect(first.headers.link).toBe(
    '<https://example.okta.com/api/v1/users/u/groups>; rel="self", <https://example.okta.com/api/v1/users/u/groups?after=2>; rel="next"',
  )
  const last = await world.get(
    'https://example.okta.com/api/v1/users/u/groups?after=2',
    `SSWS ${world.okta.apiToken}`,
  )
  expect(last.body).toMatchObject([{ profile: { name: 'c' } }])
  expect(last.headers.link).not.toContain('next')
})

test('the proxy reaches these hosts and no others', async () => {
  await using world = await asking()

  await expect(world.get('https://example.com/')).rejects.toThrow()
  expect(world.hosts.requests).toEqual([])
})
