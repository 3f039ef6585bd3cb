import { decodeJwt } from 'jose'
import { afterAll, afterEach, expect, test } from 'vitest'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { send } from './client.ts'

const clock = new FakeClock(1_800_000_000_000)
const directory = await startDirectory({ now: () => clock.now() })
afterAll(() => directory[Symbol.asyncDispose]())
afterEach(() => {
  directory.clearFaults()
  directory.change({ metadata: { systemAssigned: true, cacheSeconds: 0 } })
})
const [first, second] = directory.userAssignedIdentities
const system = directory.systemAssignedIdentity

type Answer = { status: number; body: Record<string, unknown> }
async function get(url: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { headers })
  return { status: response.status, body: JSON.parse(await response.text()) }
}
const resource = encodeURIComponent(directory.directoryUrl)
const ofMachine = (query = '', headers: Record<string, string> = { metadata: 'true' }) =>
  get(
    `${directory.metadataUrl}/metadata/identity/oauth2/token?api-version=2018-02-01&resource=${resource}${query}`,
    headers,
  )
const ofPlatform = (query = '', header = directory.identityHeader) =>
  get(`${directory.identityEndpoint}?api-version=2019-08-01&resource=${resource}${query}`, {
    'x-identity-header': header,
  })

test('the form of a machine gives a token of the system-assigned identity, its times as text', async () => {
  const { status, body } = await ofMachine()

  expect([status, body]).toMatchObject([
    200,
    {
      token_type: 'Bearer',
      client_id: system.clientId,
      expires_in: '86400',
      expires_on: '1800086400',
      resource: directory.directoryUrl,
    },
  ])
  expect(decodeJwt(String(body.access_token))).toMatchObject({
    appid: system.clientId,
    oid: system.servicePrincipalId,
    aud: directory.directoryUrl,
    xms_mirid: system.resourceId,
  })
})

test('the form of a platform gives the end as text, and no lifetime', async () => {
  const { status, body } = await ofPlatform()

  expect([status, body]).toMatchObject([200, { expires_on: '1800086400', client_id: system.clientId }])
  expect(body).not.toHaveProperty('expires_in')
})

test.each([
  ['client_id', first.clientId, first],
  ['client_id', second.clientId, second],
  ['object_id', second.servicePrincipalId, second],
  ['msi_res_id', encodeURIComponent(first.resourceId), first],
])('an identity is chosen by %s=%s', async (name, value, { clientId }) => {
  const answers = [await ofMachine(`&${name}=${value}`), await ofPlatform(`&${name}=${value}`)]

  expect(answers.map(({ body }) => body.client_id)).toEqual([clientId, clientId])
})

test('its token works at the directory with the permissions of the settings', async () => {
  const { body } = await ofMachine(`&client_id=${first.clientId}`)

  const { status } = await send(directory, 'GET', `${directory.directoryUrl}/v1.0/applications`, {
    token: String(body.access_token),
  })

  expect(status).toBe(200)
})

test('a request without its header, of another version, or through a proxy is refused', async () => {
  const answers = [
    await ofMachine('', {}),
    await ofMachine('', { metadata: 'true', 'x-forwarded-for': '10.0.0.1' }),
    await get(`${directory.metadataUrl}/metadata/identity/oauth2/token?api-version=2017&resource=x`, {
      metadata: 'true',
    }),
    await ofPlatform('', 'wrong'),
  ]

  expect(answers.map(({ status, body }) => [status, body.error ?? body.message])).toEqual([
    [400, 'bad_request_102'],
    [400, 'invalid_request'],
    [400, 'invalid_request'],
    [401, 'The X-IDENTITY-HEADER is missing or wrong.'],
  ])
})

test('an unknown identity or resource, and several identities without a choice, are refused', async () => {
  directory.change({ metadata: { systemAssigned: false } })
  const answers = [
    await ofMachine(`&client_id=${crypto.randomUUID()}`),
    await ofMachine(`&client_id=${system.clientId}`),
    await ofMachine(),
    await get(
      `${directory.metadataUrl}/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://x.example`,
      { metadata: 'true' },
    ),
  ]

  expect(answers.map(({ status, body }) => [status, body.error, body.error_description])).toEqual([
    [400, 'invalid_request', 'Identity not found'],
    [400, 'invalid_request', 'Identity not found'],
    [400, 'invalid_request', expect.stringContaining('Multiple user assigned identities exist')],
    [400, 'invalid_resource', expect.stringContaining('https://x.example')],
  ])
})

test('it returns the same old token for as long as the settings say, with the roles it had', async () => {
  directory.change({ metadata: { cacheSeconds: 86_000 } })
  const before = await ofMachine()
  directory.change({ directoryPermissions: 'None' })
  clock.advance(85_999)

  const old = await ofMachine()
  clock.advance(1)
  const fresh = await ofMachine()
  directory.change({ directoryPermissions: 'All' })

  expect(old.body).toMatchObject({ access_token: before.body.access_token, expires_in: '401' })
  expect(decodeJwt(String(old.body.access_token))).toHaveProperty('roles')
  expect(decodeJwt(String(fresh.body.access_token))).not.toHaveProperty('roles')
})

test.each([400, 404, 410, 429, 500])('a fault of status %i has the body of the service', async (status) => {
  directory.fault({ kind: 'status', service: 'metadata', status, code: 'ordered', message: 'by the test' })

  const answer = await ofMachine()

  expect(answer).toEqual({ status, body: { error: 'ordered', error_description: 'by the test' } })
})

test('it can be silent', async () => {
  directory.fault({ kind: 'silent', operation: 'machineToken' })
  const abort = new AbortController()
  directory.journal.clear()
  const asked = fetch(
    `${directory.metadataUrl}/metadata/identity/oauth2/token?api-version=2018-02-01&resource=${resource}`,
    { headers: { metadata: 'true' }, signal: abort.signal },
  )
  await directory.journal.arrived('machineToken')
  abort.abort()

  await expect(asked).rejects.toThrow('aborted')
})
