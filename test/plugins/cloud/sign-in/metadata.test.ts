import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { FaultInput } from '../../../../simulators/directory/fault-fields.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'

let fixture: CloudFixture
let platform: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture({
    configured: false,
    host: ({ metadataUrl }) => ({
      CLOUD_METADATA_ENDPOINT: metadataUrl,
      CLOUD_HOST_IDENTITY: 'other/azure, guest/cloud/',
      HTTPS_PROXY: 'http://127.0.0.1:9',
      GATEHOUSE_OUTBOUND_DENY: '169.254.0.0/16',
    }),
    environment: { NO_PROXY: '127.0.0.1,localhost' },
  })
  platform = await startCloudFixture({
    configured: false,
    host: ({ identityEndpoint, identityHeader }) => ({
      IDENTITY_ENDPOINT: identityEndpoint,
      IDENTITY_HEADER: identityHeader,
    }),
  })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
})

beforeEach(async () => {
  fixture.directory.clearFaults()
  const fields = { auth_type: 'msi', client_id: '', client_secret: '', managed_identity_client_id: '' }
  await fixture.root.write('cloud/config', fixture.config(fields))
  fixture.directory.journal.clear()
  fixture.clock.pauses.length = 0
})

async function signIn({ root }: CloudFixture, path = 'cloud'): Promise<{ ok: boolean; detail: string }> {
  const { body } = await root.read(`${path}/config/check`)
  const found = body.data?.['checks'] as unknown as { name: string; ok: boolean; detail: string }[]
  return found.find(({ name }) => name === 'sign_in') ?? { ok: false, detail: JSON.stringify(found) }
}

// docs/contract/cloud.md#sign-in
describe('the metadata service', () => {
  test('is asked in the form of a virtual machine, for the resource of the scope', async () => {
    expect(await signIn(fixture)).toMatchObject({ ok: true })

    const [asked] = fixture.directory.journal.entries({ operation: 'machineToken' })
    expect(Object.fromEntries(new URLSearchParams(asked?.query))).toEqual({
      ...{ 'api-version': '2018-02-01', resource: fixture.directory.directoryUrl },
    })
  })

  test('is asked in the form of an application platform if that names one', async () => {
    await platform.root.write(
      'cloud/config',
      platform.config({ auth_type: 'msi', client_id: '', client_secret: '' }),
    )

    expect(await signIn(platform)).toMatchObject({ ok: true })

    const asked = platform.directory.journal.entries({ service: 'metadata' })
    expect(new Set(asked.map(({ operation }) => operation))).toEqual(new Set(['platformToken']))
  })

  test('is asked for a user-assigned identity by its client id', async () => {
    const [identity] = fixture.directory.userAssignedIdentities
    await fixture.root.write('cloud/config', { client_id: identity.clientId })

    expect(await signIn(fixture)).toMatchObject({ ok: true, detail: `client ${identity.clientId}` })

    const [asked] = fixture.directory.journal.entries({ operation: 'machineToken' })
    expect(asked?.query).toContain(`client_id=${identity.clientId}`)
  })

  test.each([404, 410, 429, 500, 503])('is asked again after status %i', async (status) => {
    const fault: FaultInput = { kind: 'status', status, operation: 'machineToken', times: 3 }
    fixture.directory.fault(fault)

    expect(await signIn(fixture)).toMatchObject({ ok: true })
  })

  test('is asked for 70 s while it is being updated', async () => {
    fixture.directory.fault({ kind: 'status', status: 410, operation: 'machineToken', times: null })

    expect(await signIn(fixture)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^managed identity: /),
    })

    const waited = fixture.clock.pauses.reduce((sum, pause) => sum + pause, 0)
    expect(waited).toBeGreaterThanOrEqual(70_000)
  })

  test('is not asked again after another refusal, whose text the caller gets', async () => {
    fixture.directory.fault({
      ...{ kind: 'status', status: 400, operation: 'machineToken', times: null },
      body: { error: 'invalid_request', error_description: 'Identity not found' },
    })

    const { detail } = await signIn(fixture)

    expect(detail).toBe('managed identity: invalid_request: Identity not found')
    expect(fixture.clock.pauses).toEqual([])
  })

  test('is not followed to another address', async () => {
    fixture.directory.fault({
      ...{ kind: 'redirect', url: `${fixture.directory.metadataUrl}/elsewhere` },
      ...{ operation: 'machineToken', times: null },
    })

    const { ok } = await signIn(fixture)

    expect(ok).toBe(false)
    expect(fixture.directory.journal.entries().some(({ path }) => path.includes('elsewhere'))).toBe(false)
  })

  test('that does not answer is no service', async () => {
    await fixture.directory.goDown('metadata')
    const typed = await signIn(fixture)
    await fixture.root.write('cloud/config', { auth_type: '' })
    const untyped = await signIn(fixture)
    await fixture.directory.comeBack('metadata')

    expect(typed).toEqual(
      expect.objectContaining({ detail: 'no managed identity: the metadata endpoint does not answer' }),
    )
    expect(untyped).toEqual(
      expect.objectContaining({
        detail:
          'no credential is configured: set client_secret, client_certificate or identity_token_audience',
      }),
    )
  })

  test('serves a mount of a namespace that the operator has named', async () => {
    const { root } = fixture
    await root.write('sys/namespaces/guest', {})
    for (const path of ['cloud', 'cloud2']) await root.write(`guest/sys/mounts/${path}`, { type: 'cloud' })
    const config = fixture.config({ auth_type: 'msi', client_id: '', client_secret: '' })

    expect(await root.write('guest/cloud2/config', config)).toMatchObject({ status: 400 })
    expect(await root.write('guest/cloud/config', config)).toMatchObject({ status: 204 })
    expect(await signIn(fixture, 'guest/cloud')).toMatchObject({ ok: true })
  })
})

test.each(['msi', 'msi_wif'])(
  'a role cannot give out the identity that the engine signs in with (%s)',
  async (type) => {
    const { directory, root } = fixture
    const [identity] = directory.userAssignedIdentities
    directory.admin.addTrust(directory.rootApplicationId, {
      issuer: `${directory.authorityUrl}/${directory.tenantId}/v2.0`,
      subject: identity.servicePrincipalId,
      audience: 'api://AzureADTokenExchange',
    })
    const fields =
      type === 'msi'
        ? { client_id: identity.clientId }
        : { client_id: directory.rootClientId, managed_identity_client_id: identity.clientId }
    expect((await root.write('cloud/config', { auth_type: type, ...fields })).text).toBe('')
    const role = { credential_type: 'federated', federated_client_id: identity.clientId.toUpperCase() }

    const written = await root.write('cloud/roles/own', role)

    expect(written).toMatchObject({
      status: 400,
      body: { errors: ['federated_client_id must not refer to the application used by this engine'] },
    })
  },
)
