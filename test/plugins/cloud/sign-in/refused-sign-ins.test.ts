import { createPrivateKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import { makeCertificate } from '../../../../src/plugins/cloud/certificates/make-certificate.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'

const audience = 'api://AzureADTokenExchange'

let fixture: CloudFixture
let issuer: string
let subject: string

beforeAll(async () => {
  fixture = await startCloudFixture({ host: ({ metadataUrl }) => ({ CLOUD_METADATA_ENDPOINT: metadataUrl }) })
  issuer = `${fixture.server.url}/v1/identity/oidc/plugins`
  await fixture.root.write('identity/oidc/config', { issuer: fixture.server.url })
  const { body } = await fixture.root.read('sys/mounts/cloud')
  subject = `plugin-identity:root:secret:${String(body.data?.['accessor'])}`
})
afterAll(() => fixture[Symbol.asyncDispose]())

type Check = { name: string; ok: boolean; detail: string; fix: string }

async function checks({ root } = fixture): Promise<Record<string, Check>> {
  const { body } = await root.read('cloud/config/check')
  const found = body.data?.['checks'] as unknown as Check[]
  return Object.fromEntries(found.map((check) => [check.name, check]))
}

const federate = (changes = {}) =>
  fixture.root.write('cloud/config', {
    client_secret: '',
    client_certificate: '',
    auth_type: '',
    identity_token_audience: audience,
    client_id: fixture.directory.rootClientId,
    ...changes,
  })

const trust = (changes: { issuer?: string; subject?: string; audience?: string }) =>
  fixture.directory.admin.addTrust(fixture.directory.rootApplicationId, {
    issuer,
    subject,
    audience,
    ...changes,
  })

const command = (): string => {
  // the clock of the server stands still
  const parameters = { name: 'gatehouse-20260505060708', issuer, subject, audiences: [audience] }
  return `az ad app federated-credential create --id '${fixture.directory.rootClientId}' --parameters '${JSON.stringify(parameters)}'`
}

// docs/contract/cloud.md#refused-assertions
describe('a refused sign-in names its cause and the command that repairs it:', () => {
  const refusals: {
    name: string
    code: number
    cause: string
    fix(): string
    trusted?: () => Parameters<typeof trust>[0]
    hours?: number
  }[] = [
    { name: 'the issuer', code: 700211, cause: 'the issuer is not trusted', fix: command },
    {
      name: 'the subject',
      code: 700213,
      cause: 'the subject is not trusted',
      fix: command,
      trusted: () => ({ subject: 'another' }),
    },
    {
      name: 'the audience',
      code: 700212,
      cause: 'the audience is not trusted',
      fix: command,
      trusted: () => ({ audience: 'api://another' }),
    },
    {
      name: 'upper and lower case',
      code: 7002138,
      cause: 'the trust differs in upper and lower case',
      trusted: () => ({ subject: subject.toUpperCase() }),
      fix: () =>
        `the token says issuer ${issuer} and subject ${subject}; this shows how the trusts spell them: az ad app federated-credential list --id '${fixture.directory.rootClientId}'; remove the one that differs, and write it in the same letters: ${command()}`,
    },
    {
      name: 'the time',
      code: 700024,
      cause: 'the assertion is outside its time',
      trusted: () => ({}),
      fix: () => 'set the clock of this server, which is 18000 s behind that of the cloud',
      hours: 5,
    },
  ]
  test.each(refusals)('$name', async ({ code, cause, fix, trusted, hours = 0 }) => {
    await federate()
    const made = trusted === undefined ? undefined : trust(trusted())
    fixture.directory.change({ clockOffsetSeconds: hours * 3600 })

    const { sign_in: signIn } = await checks()
    const written = await fixture.root.write('cloud/roles/a', { cloud_groups: '[{"group_name":"foo"}]' })

    fixture.directory.change({ clockOffsetSeconds: 0 })
    if (made !== undefined) fixture.directory.admin.remove(made.id)
    expect(signIn).toMatchObject({ ok: false, fix: expect.stringContaining(fix()) })
    expect(signIn?.detail).toMatch(new RegExp(`^AADSTS${code}: .*: ${cause}; fix: `))
    expect(written.status).toBe(400)
    expect(written.text).toContain(`: ${cause}; fix: `)
  })

  test('the certificate', async () => {
    const made = await makeCertificate({
      commonName: 'root',
      now: fixture.clock.now(),
      seconds: 86_400,
      random: systemRandom,
    })
    await federate({ identity_token_audience: '', client_certificate: made.private_key + made.certificate })

    const { sign_in: signIn, auth_type: type } = await checks()

    expect(type).toMatchObject({ ok: true, detail: 'certificate' })
    expect(signIn).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^AADSTS700027: .*: the certificate is not on the application; fix: /),
      fix: `save the certificate that config/certificate returns as gatehouse-root.pem, then: az ad app credential reset --id '${fixture.directory.rootClientId}' --append --cert @gatehouse-root.pem`,
    })
  })

  test('the certificate that ends soon', async () => {
    const made = await makeCertificate({
      commonName: 'root',
      now: fixture.clock.now(),
      seconds: 13 * 86_400,
      random: systemRandom,
    })
    fixture.directory.admin.addCertificate(fixture.directory.rootApplicationId, made.certificate)
    await federate({ identity_token_audience: '', client_certificate: made.private_key + made.certificate })

    const { root_certificate: end, root_secret: secret } = await checks()

    expect(end).toMatchObject({
      ok: false,
      detail: expect.stringContaining('in 13 days'),
      fix: 'write rotate-root',
    })
    expect(secret).toBeUndefined()
  })

  test('the token of the platform', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('token')
    await using other = await startCloudFixture({
      environment: { CLOUD_AUTH_TYPE: 'aks_wif', AZURE_FEDERATED_TOKEN_FILE: file },
    })
    const { rootClientId: id, rootApplicationId, authorityUrl, tenantId } = other.directory
    const now = Math.floor(other.clock.now() / 1000)
    const made = await makeCertificate({
      commonName: 'root',
      now: other.clock.now(),
      seconds: 86_400,
      random: systemRandom,
    })
    other.directory.admin.addCertificate(rootApplicationId, made.certificate)
    const thumbprint = Buffer.from(made.thumbprint_sha256, 'hex').toString('base64url')
    const aud = `${authorityUrl}/${tenantId}/oauth2/v2.0/token`
    const ended = new Date((now - 3600) * 1000).toISOString()
    const tokens: [claims: object, header: object, code: number, cause: string, fix: string][] = [
      [
        ...([{ sub: 'another' }, {}, 700021, 'the assertion is for another client'] as const),
        'the assertion says subject another: write client_id of the application whose certificate signed it',
      ],
      [
        ...([{ aud: 'https://proxy' }, {}, 700023] as const),
        'the audience of the assertion is not the token endpoint',
        `the assertion says audience https://proxy: write tenant_id and environment of the application ${id}; CLOUD_AUTHORITY_HOST, if it is set, must name the login service itself`,
      ],
      [
        ...([{ exp: now - 3600 }, {}, 700024, `the assertion ended ${ended}`] as const),
        'the platform that issues it must renew it in time',
      ],
      [
        ...([{}, { 'x5t#S256': undefined }, 50027] as const),
        'the login service does not accept such tokens',
        `the platform that issues the assertion of ${id} must sign it with RS256 and name its key`,
      ],
    ]
    const found: unknown[] = []
    for (const [claims, header] of tokens) {
      const token = new SignJWT({ iss: id, sub: id, aud, exp: now + 600, ...claims })
      token.setProtectedHeader({ alg: 'PS256', 'x5t#S256': thumbprint, ...header })
      writeFileSync(file, await token.sign(createPrivateKey(made.private_key)))
      found.push((await checks(other))['sign_in'])
    }

    expect(found).toEqual(
      tokens.map(([, , code, cause, fix]) => ({
        name: 'sign_in',
        ok: false,
        fix,
        detail: expect.stringMatching(new RegExp(`^AADSTS${code}: .*: ${cause}; fix: `)),
      })),
    )
  })

  test('the managed identity', async () => {
    await federate({ identity_token_audience: '', auth_type: 'msi', client_id: 'unknown' })

    const { metadata, sign_in: signIn } = await checks()

    expect(metadata).toMatchObject({ ok: false, fix: expect.stringContaining('assign a managed identity') })
    expect(signIn?.detail).toMatch(/^managed identity: /)
  })

  test('the issuer that the cloud cannot read', async () => {
    await federate()

    const { issuer: checked, signing_key: key } = await checks()

    // this server speaks plain HTTP
    expect(checked).toMatchObject({
      ok: false,
      detail: `${issuer} is not https`,
      fix: expect.stringContaining('public'),
    })
    expect(key).toMatchObject({ ok: true, detail: `RS256, for ${audience}` })
  })
})

// docs/contract/cloud.md#identity
describe('config/identity', () => {
  const identity = async (path = 'cloud') => (await fixture.root.read(`${path}/config/identity`)).body.data

  test('has the command that makes the application trust the mount', async () => {
    await federate()

    expect(await identity()).toMatchObject({
      auth_type: 'plugin_wif',
      issuer,
      subject,
      role_subject: `${subject}:role:<role>`,
      audience,
      jwks_uri: `${issuer}/.well-known/keys`,
      client_id: fixture.directory.rootClientId,
      commands: [expect.stringContaining(`"subject":"${subject}"`)],
    })
  })

  test('answers before anything is configured', async () => {
    await fixture.root.write('sys/namespaces/fresh', {})
    await fixture.root.write('fresh/sys/mounts/cloud', { type: 'cloud' })

    expect(await identity('fresh/cloud')).toMatchObject({
      auth_type: '',
      audience,
      client_id: '',
      issuer: `${fixture.server.url}/v1/fresh/identity/oidc/plugins`,
      commands: [expect.stringContaining("--id '<client_id>'")],
    })
  })

  test.each([
    {
      type: 'root_creds',
      fields: { client_secret: 'x', identity_token_audience: '' },
      line: 'az ad app credential reset',
    },
    { type: 'msi', fields: { auth_type: 'msi' }, line: 'az vm identity assign' },
    {
      type: 'msi_wif',
      fields: { auth_type: 'msi_wif', managed_identity_client_id: 'm' },
      line: "az ad sp show --id 'm'",
    },
  ])('has the commands of $type', async ({ type, fields, line }) => {
    await federate(fields)

    expect(await identity()).toMatchObject({
      auth_type: type,
      commands: expect.arrayContaining([expect.stringContaining(line)]),
    })
  })

  test('says nothing of a host whose identity is not offered', async () => {
    await using folder = await temporaryFolder()
    const claims = Buffer.from(JSON.stringify({ iss: 'https://cluster', sub: 'of-host', aud: audience }))
    const file = folder.file('token')
    writeFileSync(file, `e30.${claims.toString('base64url')}.e30`)
    await using other = await startCloudFixture({
      environment: { CLOUD_AUTH_TYPE: 'aks_wif', AZURE_FEDERATED_TOKEN_FILE: file },
    })
    await other.root.write('sys/namespaces/child', {})
    await other.root.write('child/sys/mounts/cloud', { type: 'cloud' })

    const told = await Promise.all(
      ['cloud', 'child/cloud'].map((path) => other.root.read(`${path}/config/identity`)),
    )

    expect(told.map(({ status, text }) => [status, text.includes('of-host')])).toEqual([
      [200, true],
      [200, false],
    ])
  })

  test('a token file that cannot be used is named, and nothing is sent', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('token')
    await using other = await startCloudFixture({
      configured: false,
      environment: { CLOUD_AUTH_TYPE: 'aks_wif', AZURE_FEDERATED_TOKEN_FILE: file },
    })
    // the setting of the process comes before the stored one
    await other.root.write('cloud/config', other.config({ client_secret: '', auth_type: 'msi' }))
    const details = async () => {
      const { body } = await other.root.read('cloud/config/check')
      const checks = body.data?.['checks'] as unknown as { name: string; ok: boolean; detail: string }[]
      return ['auth_type', 'token_file', 'sign_in'].map((name) => checks.find((one) => one.name === name))
    }

    const missing = await details()
    writeFileSync(file, ' \n')
    const empty = await details()
    writeFileSync(file, 'x'.repeat(16_385))
    const large = await details()

    for (const [found, why] of [
      [missing, 'ENOENT'],
      [empty, 'it is empty'],
      [large, 'it has more than 16384 bytes'],
    ] as const)
      expect(found).toEqual([
        expect.objectContaining({ detail: 'aks_wif', ok: true }),
        ...[1, 2].map(() =>
          expect.objectContaining({
            ok: false,
            fix: expect.stringMatching(/.+/),
            detail: expect.stringContaining(`the token file cannot be used: ${why}`),
          }),
        ),
      ])
    expect(other.directory.journal.entries({ operation: 'token' })).toEqual([])
  })

  test('quotes what a configuration may contain, so that a copied command runs nothing else', async () => {
    await federate({ client_id: "x'; rm -rf ~; '" })

    const { commands } = (await identity()) as unknown as { commands: string[] }

    expect(commands[0]).toContain(`--id 'x'\\''; rm -rf ~; '\\'''`)
  })
})
