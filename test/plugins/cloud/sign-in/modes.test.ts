import { createPrivateKey, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Directory } from '../../../../simulators/directory/directory.ts'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import { makeCertificate } from '../../../../src/plugins/cloud/certificates/make-certificate.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import { aCredential, reader, revoke, until, works } from '../credential-steps.ts'

const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const notOffered = 'the identity of this host is not offered to this mount'
const noCredential =
  'no credential is configured: set client_secret, client_certificate or identity_token_audience'
const audience = 'api://AzureADTokenExchange'
const key = randomBytes(32).toString('hex')
const folder = await temporaryFolder()
const tokenFile = folder.file('token')

let fixture: CloudFixture

const onMachine = (directory: Directory) => ({
  CLOUD_METADATA_ENDPOINT: directory.metadataUrl,
  AZURE_FEDERATED_TOKEN_FILE: tokenFile,
})

beforeAll(async () => {
  fixture = await startCloudFixture({
    settings: { STORAGE: `sqlite:${folder.file('gatehouse.db')}`, SEAL_KEY: key },
    configured: false,
    host: onMachine,
  })
  await fixture.root.write('identity/oidc/config', { issuer: fixture.server.url })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** A new mount of the root namespace, signed in by these fields and no secret. */
async function aMount(path: string, fields: Record<string, unknown>): Promise<void> {
  expect(await fixture.root.write(`sys/mounts/${path}`, { type: 'cloud' })).toMatchObject({ status: 204 })
  const written = await fixture.root.write(`${path}/config`, fixture.config({ client_secret: '', ...fields }))
  expect([written.status, written.text]).toEqual([204, ''])
}

async function restart(): Promise<void> {
  expect(await fixture.root.call('PUT', 'sys/seal')).toMatchObject({ status: 204 })
  expect(await fixture.server.anonymous.call('PUT', 'sys/unseal', { key })).toMatchObject({ status: 200 })
}

const accessorOf = async (path: string) =>
  String((await fixture.root.read(`sys/mounts/${path}`)).body.data?.['accessor'])

/** Makes the root application trust the tokens of a mount. */
async function trustMount(path: string): Promise<void> {
  fixture.directory.admin.addTrust(fixture.directory.rootApplicationId, {
    issuer: `${fixture.server.url}/v1/identity/oidc/plugins`,
    subject: `plugin-identity:root:secret:${await accessorOf(path)}`,
    audience,
  })
}

/** A token of a service account, in the file that the platform names. */
async function trustFile(): Promise<void> {
  const { root, directory, server } = fixture
  await root.write('identity/oidc/key/cluster', { allowed_client_ids: '*' })
  await root.write('identity/oidc/role/cluster', { key: 'cluster', client_id: audience, ttl: '1h' })
  await root.write('identity/entity', { name: 'account' })
  await root.write('auth/token/roles/account', { allowed_entity_aliases: 'account' })
  const made = await root.write('auth/token/create/account', { entity_alias: 'account', policies: ['reads'] })
  await root.write('sys/policies/acl/reads', {
    policy: 'path "identity/oidc/token/*" { capabilities = ["read"] }',
  })
  const token = String(made.body.auth?.client_token)
  const signed = await server.as(token).read('identity/oidc/token/cluster')
  const jwt = String(signed.body.data?.['token'])
  const { sub } = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
  directory.admin.addTrust(directory.rootApplicationId, {
    issuer: `${server.url}/v1/identity/oidc`,
    subject: sub,
    audience,
  })
  writeFileSync(tokenFile, `${jwt}\n`)
}

// docs/contract/cloud.md#sign-in
describe('a root without a stored secret signs in, issues and revokes, also after a restart,', () => {
  const modes: {
    name: string
    prepare(path: string): Promise<Record<string, unknown>>
    proof: 'assertion' | 'none'
    /** The claims of what the engine presents; of the identity of the machine, what it asked for. */
    presents(path: string): Promise<unknown>
  }[] = [
    {
      name: 'with a certificate',
      prepare: async () => {
        const made = await makeCertificate({
          commonName: 'root',
          now: fixture.clock.now(),
          seconds: 86_400,
          random: systemRandom,
        })
        fixture.directory.admin.addCertificate(fixture.directory.rootApplicationId, made.certificate)
        thumbprint = Buffer.from(made.thumbprint_sha256, 'hex').toString('base64url')
        return { client_certificate: made.private_key + made.certificate }
      },
      proof: 'assertion',
      presents: async () => ({
        header: { alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint },
        claims: {
          iss: fixture.directory.rootClientId,
          sub: fixture.directory.rootClientId,
          aud: `${fixture.directory.authorityUrl}/${fixture.directory.tenantId}/oauth2/v2.0/token`,
          exp: Math.floor(fixture.clock.now() / 1000) + 600,
        },
      }),
    },
    {
      name: 'with a token of its mount',
      prepare: async (path) => {
        await trustMount(path)
        return { identity_token_audience: audience }
      },
      proof: 'assertion',
      presents: async (path) => ({
        header: { alg: 'RS256' },
        claims: {
          iss: `${fixture.server.url}/v1/identity/oidc/plugins`,
          sub: `plugin-identity:root:secret:${await accessorOf(path)}`,
          aud: [audience],
          exp: Math.floor(fixture.clock.now() / 1000) + 3600,
        },
      }),
    },
    {
      name: 'with the token of a service account',
      prepare: async () => {
        await trustFile()
        return { auth_type: 'aks_wif' }
      },
      proof: 'assertion',
      presents: async () => ({ claims: { iss: `${fixture.server.url}/v1/identity/oidc`, aud: audience } }),
    },
    {
      name: 'with a managed identity that an application trusts',
      prepare: async () => {
        const { directory } = fixture
        const [identity] = directory.userAssignedIdentities
        directory.admin.addTrust(directory.rootApplicationId, {
          issuer: `${directory.authorityUrl}/${directory.tenantId}/v2.0`,
          subject: identity.servicePrincipalId,
          audience,
        })
        return { auth_type: 'msi_wif', managed_identity_client_id: identity.clientId }
      },
      proof: 'assertion',
      presents: async () => {
        const [identity] = fixture.directory.userAssignedIdentities
        return {
          claims: { sub: identity.servicePrincipalId, aud: audience },
          asked: { resource: audience, client_id: identity.clientId },
        }
      },
    },
    {
      name: 'as the machine',
      prepare: async () => ({ auth_type: 'msi', client_id: '' }),
      proof: 'none',
      presents: async () => ({ asked: { resource: fixture.directory.directoryUrl } }),
    },
  ]

  let thumbprint: string

  test.each(modes)('$name', async ({ name, prepare, proof, presents }) => {
    const path = `m-${name.replaceAll(' ', '-')}`
    await aMount(path, { auth_type: '' })
    const fields = await prepare(path)
    expect((await fixture.root.write(`${path}/config`, fields)).text).toBe('')
    const role = await fixture.root.write(`${path}/roles/deploy`, { cloud_roles: reader(fixture) })
    expect([role.status, role.text]).toEqual([204, ''])

    for (const round of ['before', 'after']) {
      if (round === 'after') await restart()
      fixture.directory.journal.clear()
      const credential = await aCredential(fixture, `${path}/creds/deploy`)
      const proofs = fixture.directory.journal
        .entries({ operation: 'token' })
        .map(({ body }) => body?.['client_assertion_type'])
      expect(await works(fixture, credential)).toBe(true)
      expect((await revoke(fixture, credential.lease)).status).toBe(204)
      expect(await works(fixture, credential)).toBe(false)
      expect(new Set(proofs)).toEqual(new Set(proof === 'none' ? [] : [jwtBearer]))
      const [asked] = fixture.directory.journal.entries({ operation: 'machineToken' })
      const [{ assertion } = {}] = fixture.directory.journal.entries({ operation: 'token' })
      const shown = { ...assertion, asked: Object.fromEntries(new URLSearchParams(asked?.query)) }
      expect(shown).toMatchObject(Object(await presents(path)))
    }
    if (name === 'with a certificate') return
    const refused = [
      await fixture.root.write(`${path}/rotate-root`, {}),
      await fixture.root.write(`${path}/config`, { rotation_period: 86_400 }),
      await fixture.root.write(`${path}/config`, { rotation_schedule: '0 3 * * *' }),
    ]
    expect(refused.map(({ status, body }) => [status, body.errors?.[0]])).toEqual([
      [400, 'cannot rotate root: no client secret is configured'],
      [400, 'error registering rotation job: no client secret is configured'],
      [400, 'error registering rotation job: no client secret is configured'],
    ])
  })
})

// docs/contract/identity-tokens.md#tokens-of-mounts
test('a cloud that keeps keys for an hour accepts each token of a mount whose key changes each hour', async () => {
  const { root, directory, clock } = fixture
  const hour = 3600
  directory.change({ issuers: { cacheSeconds: hour, refetchOnUnknownKey: false } })
  const settings = { rotation_period: hour, verification_ttl: hour, allowed_client_ids: audience }
  await root.write('identity/oidc/key/hourly', settings)
  await aMount('hourly', {})
  await root.write('sys/mounts/hourly/tune', { identity_token_key: 'hourly' })
  await trustMount('hourly')
  await root.write('hourly/config', { identity_token_audience: audience })
  // the cloud may have fetched the keys of the other mounts just now
  clock.advance(hour)
  const keyIds = new Set<unknown>()
  const signIns: unknown[] = []

  for (let third = 0; third < 9; third++) {
    directory.journal.clear()
    const { text } = await root.read('hourly/config/check')
    signIns.push(text.includes('"name":"sign_in","ok":true'))
    const [{ assertion } = {}] = directory.journal.entries({ operation: 'token' })
    keyIds.add(Object(assertion?.header)['kid'])
    clock.advance(hour / 3)
    if (third % 3 === 1) await root.write('identity/oidc/key/hourly/rotate', {})
  }

  directory.change({ issuers: { cacheSeconds: 300, refetchOnUnknownKey: true } })
  expect([new Set(signIns), keyIds.size]).toEqual([new Set([true]), 4])
})

describe('the identity of the machine', () => {
  const childMount = async () => {
    const [namespace] = [`team-${randomBytes(4).toString('hex')}`]
    await fixture.root.write(`sys/namespaces/${namespace}`, {})
    await fixture.root.write(`${namespace}/sys/mounts/cloud`, { type: 'cloud' })
    return `${namespace}/cloud`
  }
  const askedMetadata = () => fixture.directory.journal.entries({ service: 'metadata' }).length

  test.each([
    { auth_type: 'msi' },
    { auth_type: 'msi_wif', managed_identity_client_id: 'm' },
    { auth_type: 'aks_wif' },
  ])('is refused to the configuration of a mount in a namespace ($auth_type)', async (fields) => {
    const path = await childMount()

    const written = await fixture.root.write(
      `${path}/config`,
      fixture.config({ client_secret: '', ...fields }),
    )

    expect(written).toMatchObject({ status: 400, body: { errors: [notOffered] } })
  })

  test('is passed over in a namespace if nothing is configured', async () => {
    const path = await childMount()
    await fixture.root.write(`${path}/config`, fixture.config({ client_secret: '' }))
    fixture.directory.journal.clear()

    const checked = await fixture.root.read(`${path}/config/check`)
    const read = await fixture.root.write(`${path}/roles/a`, { cloud_groups: '[{"group_name":"foo"}]' })

    expect(checked.text).toContain(noCredential)
    expect(read.text).toContain(noCredential)
    expect(askedMetadata()).toBe(0)
  })

  test('is lost by a mount that moves into a namespace', async () => {
    await aMount('wanderer', { auth_type: 'msi', client_id: '' })
    expect((await fixture.root.read('wanderer/config/check')).text).toContain('"name":"sign_in","ok":true')
    const role = { credential_type: 'federated', federated_client_id: 'client' }
    expect((await fixture.root.write('wanderer/roles/own', role)).text).toBe('')
    await fixture.root.write('sys/namespaces/far', {})
    const moving = await fixture.root.write('sys/remount', { from: 'wanderer', to: 'far/wanderer' })
    const migration = `sys/remount/status/${String(moving.body.data?.['migration_id'])}`
    await until(async () => (await fixture.root.read(migration)).text.includes('success'))
    fixture.directory.journal.clear()

    const { body } = await fixture.root.read('far/wanderer/config/check')
    const issued = await fixture.root.read('far/wanderer/creds/deploy')
    // its own tokens are not those of the machine
    const ownTokens = await fixture.root.read('far/wanderer/creds/own')
    const rewritten = await fixture.root.write('far/wanderer/roles/own', { ...role, ttl: 60 })

    expect(body.data?.['checks']).toEqual([
      {
        name: 'settings',
        ok: false,
        detail: notOffered,
        fix: 'name the mount in CLOUD_HOST_IDENTITY, or write another auth_type to config',
      },
    ])
    expect(issued).toMatchObject({ status: 400, body: { errors: [notOffered] } })
    expect([ownTokens.status, rewritten.status]).toEqual([200, 204])
    expect(askedMetadata()).toBe(0)
  })
})

// docs/contract/cloud.md#effective-settings
test('a certificate of the process signs in, is not shown with the configuration, and is not rotated', async () => {
  const made = await makeCertificate({
    commonName: 'root',
    now: Date.UTC(2026, 4, 5, 6),
    seconds: 86_400,
    random: systemRandom,
  })
  const sealed = createPrivateKey(made.private_key).export({
    ...({ type: 'pkcs8', format: 'pem' } as const),
    cipher: 'aes-256-cbc',
    passphrase: 'word',
  })
  writeFileSync(folder.file('root.pem'), `${sealed}${made.certificate}`)
  await using other = await startCloudFixture({
    configured: false,
    environment: {
      CLOUD_CLIENT_CERTIFICATE_PATH: folder.file('root.pem'),
      CLOUD_CLIENT_CERTIFICATE_PASSWORD: 'word',
    },
  })
  other.directory.admin.addCertificate(other.directory.rootApplicationId, made.certificate)
  expect((await other.root.write('cloud/config', other.config({ client_secret: '' }))).text).toBe('')

  const [config, identity, checked, rotated] = [
    await other.root.read('cloud/config'),
    await other.root.read('cloud/config/identity'),
    await other.root.read('cloud/config/check'),
    await other.root.write('cloud/rotate-root', {}),
  ]

  expect(config.text).not.toContain('client_certificate')
  expect(identity.body.data).toMatchObject({ auth_type: 'certificate' })
  expect(checked.body.data?.['checks']).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'sign_in', ok: true }),
      expect.objectContaining({
        name: 'root_certificate',
        ok: false,
        fix: 'replace the file that CLOUD_CLIENT_CERTIFICATE_PATH names, and restart the server',
      }),
    ]),
  )
  expect(rotated).toMatchObject({
    status: 400,
    body: { errors: ['cannot rotate root: client credentials are provided by the environment'] },
  })
})
