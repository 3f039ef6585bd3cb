import { createPrivateKey, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { certificateProof } from '../../../../src/plugins/cloud/sign-in/assertions.ts'
import { askToken } from '../../../simulators/directory/client.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import { aRole, cleared } from '../credential-steps.ts'

let fixture: CloudFixture

beforeAll(async () => {
  fixture = await startCloudFixture()
  await aRole(fixture, 'ci', { credential_type: 'certificate', ttl: 600, explicit_max_ttl: 3600 })
})
afterAll(() => fixture[Symbol.asyncDispose]())

type Issued = Record<
  'client_id' | 'tenant_id' | 'certificate' | 'private_key' | 'certificate_expiration',
  string
>
async function issue(path = 'cloud/creds/ci'): Promise<{ data: Issued; lease: string; warnings: unknown }> {
  const { status, text } = await fixture.root.read(path)
  expect(status, text).toBe(200)
  const { data, lease_id: lease, warnings } = JSON.parse(text)
  return { data, lease, warnings }
}
/** The codes with which the login service refuses the credential; undefined if it works. */
async function refusal({ client_id, certificate, private_key }: Issued): Promise<unknown> {
  const digest = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase()
  const stored = { certificate, private_key, thumbprint: '', thumbprint_sha256: digest, expiration: '' }
  const parts = { clock: fixture.clock, identifiers: { uuid: () => crypto.randomUUID() } }
  const proof = certificateProof(client_id, stored, parts)
  if (!('assertion' in proof)) throw new Error('a certificate proves with an assertion')
  const { directory } = fixture
  const endpoint = `${directory.authorityUrl}/${directory.tenantId}/oauth2/v2.0/token`
  const extra = {
    client_assertion: await proof.assertion(endpoint, { deadline: 0, correlationId: '' }),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  }
  return (await askToken(directory, { clientId: client_id, secret: '', extra })).body.error_codes
}
const errorOf = async (answer: ReturnType<typeof fixture.root.read>) => {
  const { status, body } = await answer
  return { status, text: String(body['errors']?.[0]) }
}

test('a certificate role issues an application whose certificate signs in, and revokes it with its lease', async () => {
  const { data, lease } = await issue()
  const certificate = new X509Certificate(data.certificate)

  expect(Object.keys(data)).toEqual([
    'client_id',
    'tenant_id',
    'certificate',
    'private_key',
    'certificate_expiration',
  ])
  expect(data.tenant_id).toBe(fixture.directory.tenantId)
  expect(data.private_key).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  expect(certificate.checkPrivateKey(createPrivateKey(data.private_key))).toBe(true)
  expect(certificate.subject).toMatch(/^CN=gatehouse-[0-9a-f-]{36}$/)
  expect(Date.parse(data.certificate_expiration)).toBe(fixture.clock.now() + 3_600_000)
  expect(certificate.validToDate.toISOString()).toBe(data.certificate_expiration)
  expect(await refusal(data)).toBeUndefined()

  await fixture.root.write('sys/leases/revoke', { lease_id: lease })
  expect(await refusal(data)).toEqual([700016])
})

test('the application gets the certificate and no password', async () => {
  fixture.directory.journal.clear()
  const { data } = await issue()
  const [created] = fixture.directory.journal.entries({ operation: 'createApplication' })
  const kinds = fixture.directory.inventory().filter(({ clientId }) => clientId === data.client_id)

  expect(created?.body?.['keyCredentials']).toEqual([
    {
      type: 'AsymmetricX509Cert',
      usage: 'Verify',
      key: new X509Certificate(data.certificate).raw.toString('base64'),
      displayName: new X509Certificate(data.certificate).subject.slice('CN='.length),
    },
  ])
  expect(kinds.map(({ kind }) => kind).toSorted()).toEqual([
    'application',
    'certificate',
    'role-assignment',
    'service-principal',
  ])
})

test('with wait=ready the certificate works when it is returned', async () => {
  fixture.directory.change({ delaySeconds: { certificateToToken: 5 } })

  const { data, warnings } = await issue('cloud/creds/ci?wait=ready')

  expect(warnings).toMatchObject([expect.stringMatching(/^credentials were ready after [5-9] s$/)])
  expect(await refusal(data)).toBeUndefined()
  fixture.directory.change({ delaySeconds: { certificateToToken: 0 } })
})

test('a lost answer is found again with its certificate', async () => {
  fixture.directory.fault({ kind: 'lost', operation: 'createApplication' })

  const { data } = await issue()

  expect(await refusal(data)).toBeUndefined()
})

test.each([
  [
    'application_object_id',
    () => ({ application_object_id: fixture.directory.admin.addApplication({ displayName: 'x' }).id }),
  ],
  ['persist_app', () => ({ persist_app: true })],
])('a certificate role cannot have %s', async (field, body) => {
  const answer = fixture.root.write('cloud/roles/wrong', {
    credential_type: 'certificate',
    cloud_roles: JSON.stringify([{ role_name: 'Reader', scope: fixture.scope() }]),
    ...body(),
  })

  expect(await errorOf(answer)).toEqual({
    status: 400,
    text: `credential_type certificate cannot be used with ${field}`,
  })
})

test('the type stays while credentials live', async () => {
  await aRole(fixture, 'fixed', { credential_type: 'certificate' })
  const { lease } = await issue('cloud/creds/fixed')

  const kept = await errorOf(fixture.root.write('cloud/roles/fixed', { credential_type: 'password' }))
  await fixture.root.write('sys/leases/revoke', { lease_id: lease })
  const changed = await fixture.root.write('cloud/roles/fixed', { credential_type: 'password' })

  expect(kept).toEqual({ status: 400, text: 'role has live leases; revoke them first' })
  expect(changed.status).toBe(204)
})

test('a tenant that forbids certificates, or passwords, is told with the type to use instead', async () => {
  await aRole(fixture, 'secrets')
  fixture.directory.change({ forbidCertificates: true })
  const noCertificate = await errorOf(fixture.root.read('cloud/creds/ci'))
  fixture.directory.change({ forbidCertificates: false, forbidPasswords: true })
  const noPassword = await errorOf(fixture.root.read('cloud/creds/secrets'))
  const { data } = await issue()
  fixture.directory.change({ forbidPasswords: false })

  expect(noCertificate).toEqual({
    status: 400,
    text: expect.stringMatching(
      /; this tenant forbids certificates: use credential_type password or federated$/,
    ),
  })
  expect(noPassword).toEqual({
    status: 400,
    text: expect.stringMatching(
      /; this tenant forbids passwords: use credential_type certificate or federated$/,
    ),
  })
  expect(await refusal(data)).toBeUndefined()
  await cleared(fixture)
})
