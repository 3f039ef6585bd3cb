import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { FaultInput } from '../../../../simulators/directory/fault-fields.ts'
import { verdict } from '../../identity/login-mount.ts'
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
      CLOUD_CLIENT_SECRET: 'of the environment',
    }),
  })
  await platform.root.write('identity/oidc/config', { issuer: platform.server.url })
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

type Check = { name: string; ok: boolean; detail: string }

async function checks({ root }: CloudFixture, path = 'cloud'): Promise<Check[]> {
  const { body } = await root.read(`${path}/config/check`)
  return body.data?.['checks'] as unknown as Check[]
}

const waited = () => fixture.clock.pauses.reduce((sum, pause) => sum + pause, 0)

/** A write that signs in, unlike a check with all its patience. */
const aRole = (name: unknown) =>
  fixture.root.write(`cloud/roles/${name}`, {
    cloud_roles: JSON.stringify([{ role_name: 'Reader', scope: fixture.scope() }]),
  })

async function signIn(house: CloudFixture, path?: string): Promise<{ ok: boolean; detail: string }> {
  const found = await checks(house, path)
  return found.find(({ name }) => name === 'sign_in') ?? { ok: false, detail: JSON.stringify(found) }
}

// docs/contract/cloud.md#sign-in
describe('the metadata service', () => {
  test('is asked in the form of a virtual machine, for the resource of the scope', async () => {
    expect(await signIn(fixture)).toMatchObject({ ok: true })

    const [asked] = fixture.directory.journal.entries({ operation: 'machineToken' })
    expect(Object.fromEntries(new URLSearchParams(asked?.query))).toEqual({
      'api-version': '2018-02-01',
      resource: fixture.directory.directoryUrl,
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

    expect(verdict(await aRole(status))).toBe('204')
    expect(fixture.clock.pauses).toHaveLength(3)
  })

  test('is asked for 70 s while it is being updated', async () => {
    fixture.directory.fault({ kind: 'status', status: 410, operation: 'machineToken', times: null })

    expect(verdict(await aRole('updated'))).toMatch(/^502 .*managed identity: /s)

    expect(waited()).toBeGreaterThanOrEqual(70_000)
  })

  test('that is being updated makes the check tell the cause within seconds', async () => {
    fixture.directory.fault({ kind: 'status', status: 410, operation: 'machineToken', times: null })

    const found = await checks(fixture)

    const fix = 'wait until that is over, which takes up to 70 s'
    const detail = expect.stringMatching(
      /^managed identity: .*: the metadata service is being updated; fix: wait/,
    )
    expect(found.slice(2)).toEqual(['metadata', 'sign_in'].map((name) => ({ name, ok: false, detail, fix })))
    expect(waited()).toBeLessThan(5_000)
  })

  test('that is there again within seconds lets the check go on', async () => {
    fixture.directory.fault({ kind: 'status', status: 404, operation: 'machineToken', times: 2 })

    expect(await signIn(fixture)).toMatchObject({ ok: true })
  })

  test('is not asked again after another refusal, whose text the caller gets', async () => {
    fixture.directory.fault({
      kind: 'status',
      status: 400,
      operation: 'machineToken',
      times: null,
      body: { error: 'invalid_request', error_description: 'Identity not found' },
    })

    const { detail } = await signIn(fixture)

    expect(detail).toBe('managed identity: invalid_request: Identity not found')
    expect(fixture.clock.pauses).toEqual([])
  })

  test('is not followed to another address', async () => {
    fixture.directory.fault({
      kind: 'redirect',
      url: `${fixture.directory.metadataUrl}/elsewhere`,
      operation: 'machineToken',
      times: null,
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

  test('that is silent makes the check wait for it once, and shortly', async () => {
    fixture.directory.fault({ kind: 'silent', operation: 'machineToken', times: null })

    const { body } = await fixture.root.read('cloud/config/check')

    const detail = 'no managed identity: the metadata endpoint does not answer'
    const failed = { ok: false, detail, fix: expect.stringMatching(/.+/) }
    expect(body.data?.['checks']).toEqual([
      expect.objectContaining({ name: 'settings', ok: true }),
      expect.objectContaining({ name: 'auth_type', ok: true }),
      { name: 'metadata', ...failed },
      { name: 'sign_in', ...failed },
    ])
    expect(fixture.directory.journal.entries({ service: 'metadata' })).toHaveLength(1)
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

// docs/contract/cloud.md#own-identity
describe("without an auth_type and a client id, the identity of the machine is the engine's own", () => {
  const isOwn = ['federated_client_id', 'application_object_id'].map(
    (field) => `400 ${field} must not refer to the application used by this engine`,
  )
  const lastResort = { auth_type: '', client_id: '', client_secret: '' }
  const scope = 'https://graph.microsoft.com/.default'
  let count = 0

  const writeRole = (clientId: string, name = `last-${++count}`) =>
    fixture.root.write(`cloud/roles/${name}`, { credential_type: 'federated', federated_client_id: clientId })
  const uses = async (name: string) =>
    [
      await fixture.root.read(`cloud/creds/${name}`),
      await fixture.root.write(`cloud/token/${name}`, { scope }),
    ].map(verdict)
  const machine = () => fixture.directory.systemAssignedIdentity.clientId

  test('a role cannot name it', async () => {
    await fixture.root.write('cloud/config', lastResort)

    expect([verdict(await writeRole(machine().toUpperCase())), verdict(await writeRole('another'))]).toEqual([
      isOwn[0],
      '204',
    ])
  })

  test('a stored role does not give it out, also while the metadata service is out of reach', async () => {
    await fixture.root.write('cloud/config', fixture.config({ auth_type: 'root_creds' }))
    expect(verdict(await writeRole(machine(), 'stored'))).toBe('204')
    await fixture.root.write('cloud/config', lastResort)

    const reached = await uses('stored')
    fixture.clock.advance(90_000)
    await fixture.directory.goDown('metadata')
    const unreached = await uses('stored')
    await fixture.directory.comeBack('metadata')

    expect([...reached, ...unreached]).toEqual([isOwn[1], isOwn[1], isOwn[1], isOwn[1]])
  })

  test('nothing is given out while the metadata service cannot tell', async () => {
    await fixture.root.write('cloud/config', fixture.config({ auth_type: 'root_creds' }))
    expect(verdict(await writeRole(machine(), 'unsure'))).toBe('204')
    const { id } = fixture.directory.admin.addApplication({ displayName: 'static' })
    const write = { application_object_id: id }
    expect(verdict(await fixture.root.write('cloud/static-roles/unsure', write))).toBe('204')
    await fixture.root.write('cloud/config', lastResort)
    fixture.directory.fault({ kind: 'status', status: 500, operation: 'machineToken', times: null })

    const refused = [
      verdict(await writeRole(machine())),
      ...(await uses('unsure')),
      verdict(await fixture.root.read('cloud/static-creds/unsure')),
      verdict(await fixture.root.write('cloud/static-creds/unsure/token', { scope })),
      verdict(await fixture.root.write('cloud/rotate-role/unsure', {})),
    ]
    fixture.directory.clearFaults()

    for (const text of refused) expect(text).toMatch(/^502 .*managed identity: /s)
    expect((await fixture.root.read('cloud/static-creds/unsure')).status).toBe(200)
  })

  test.each([
    { name: 'does not exist', fault: undefined },
    { name: 'is that of another cloud', fault: { status: 404 } },
    { name: 'has no identity for the machine', fault: { status: 400 } },
  ])('a mount that needs none works if the metadata service $name', async ({ fault }) => {
    await fixture.root.write('cloud/config', lastResort)
    if (fault === undefined) await fixture.directory.goDown('metadata')
    else fixture.directory.fault({ kind: 'status', operation: 'machineToken', times: null, ...fault })

    const name = `none-${++count}`
    const written = await writeRole('client', name)
    const issued = await fixture.root.read(`cloud/creds/${name}`)
    if (fault === undefined) await fixture.directory.comeBack('metadata')

    expect([verdict(written), issued.status]).toEqual(['204', 200])
  })
})

// docs/contract/cloud.md#sign-in
describe('a secret in the environment', () => {
  const identity = async () => (await platform.root.read('cloud/config/identity')).body.data?.['auth_type']

  test('is used without an auth_type', async () => {
    await platform.root.write('cloud/config', platform.config({ auth_type: '', client_secret: '' }))

    const { ok, detail } = await signIn(platform)

    expect([await identity(), ok, detail]).toEqual([
      ...['root_creds', false, expect.stringContaining('AADSTS7000215')],
    ])
  })

  test.each([
    { auth_type: 'msi', client_id: '', identity_token_audience: '' },
    { auth_type: 'plugin_wif', identity_token_audience: 'api://AzureADTokenExchange' },
  ])('is not used with auth_type $auth_type, which decides alone', async (fields) => {
    const { directory, root } = platform
    const { body } = await root.read('sys/mounts/cloud')
    directory.admin.addTrust(directory.rootApplicationId, {
      issuer: `${platform.server.url}/v1/identity/oidc/plugins`,
      subject: `plugin-identity:root:secret:${String(body.data?.['accessor'])}`,
      audience: `api://AzureADTokenExchange`,
    })
    const write = platform.config({ client_secret: '', ...fields })
    expect((await root.write('cloud/config', write)).text).toBe('')

    const { ok } = await signIn(platform)

    expect([await identity(), ok]).toEqual([fields.auth_type, true])
  })
})
