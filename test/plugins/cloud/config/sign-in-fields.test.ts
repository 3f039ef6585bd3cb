import { createPrivateKey, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import type { ClientCertificate } from '../../../../src/plugins/cloud/certificates/client-certificate.ts'
import { makeCertificate } from '../../../../src/plugins/cloud/certificates/make-certificate.ts'
import { startTestServer, type TestServer } from '../../../support/start-server.ts'

const ids = { subscription_id: 's', tenant_id: 't', client_id: 'c' }
const exclusive = "only one of 'client_secret', 'client_certificate' or 'identity_token_audience' can be set"

let server: TestServer
let made: ClientCertificate
let another: ClientCertificate
let ended: ClientCertificate
let pem: string

beforeAll(async () => {
  server = await startTestServer({ settings: { DEFAULT_MOUNTS: '' } })
  const wanted = { commonName: 'root', now: Date.now(), random: systemRandom }
  made = await makeCertificate({ ...wanted, seconds: 86_400 })
  another = await makeCertificate({ ...wanted, seconds: 86_400 })
  ended = await makeCertificate({ ...wanted, seconds: -60 })
  pem = made.private_key + made.certificate
})
afterAll(() => server[Symbol.asyncDispose]())

let count = 0

async function newMount(type = 'cloud'): Promise<string> {
  const path = `m${++count}`
  expect((await server.root.write(`sys/mounts/${path}`, { type })).status).toBe(204)
  return path
}

/** The answer to the last of these writes to one configuration. */
async function written(...writes: object[]): Promise<{ status: number; error: unknown; path: string }> {
  const path = await newMount()
  for (const write of writes.slice(0, -1))
    expect(await server.root.write(`${path}/config`, write)).toMatchObject({ status: 204 })
  const { status, body } = await server.root.write(`${path}/config`, writes.at(-1) ?? {})
  return { status, error: status === 204 ? undefined : body['errors'], path }
}

const dataOf = async (path: string) => (await server.root.read(`${path}/config`)).body['data']

// docs/contract/cloud.md#configuration
describe('a configuration without a stored secret', () => {
  test.each(['cloud', 'azure'])('of type %s shows its fields only once they are set', async (type) => {
    const path = await newMount(type)
    await server.root.write(`${path}/config`, ids)
    const before = await dataOf(path)

    await server.root.write(`${path}/config`, {
      auth_type: 'certificate',
      client_certificate: pem,
      managed_identity_client_id: 'm',
      root_application_object_id: 'o',
    })
    const set = await dataOf(path)
    const empty = { auth_type: '', client_certificate: '', managed_identity_client_id: '' }
    await server.root.write(`${path}/config`, { ...empty, root_application_object_id: '' })

    expect(set).toEqual({
      ...(before as object),
      auth_type: 'certificate',
      client_certificate_thumbprint: made.thumbprint_sha256,
      client_certificate_expiration: made.expiration,
      managed_identity_client_id: 'm',
      root_application_object_id: 'o',
    })
    expect(await dataOf(path)).toEqual(before)
  })

  test('changes from a secret to a certificate in one request', async () => {
    const { status, path } = await written(
      { ...ids, client_secret: 'x' },
      { client_secret: '', client_certificate: pem },
    )

    expect([status, await dataOf(path)]).toMatchObject([
      204,
      { client_certificate_thumbprint: made.thumbprint_sha256 },
    ])
  })

  test.each([
    {
      name: 'a secret and an audience',
      write: () => ({ client_secret: 'x', identity_token_audience: 'a' }),
      error: "only one of 'client_secret' or 'identity_token_audience' can be set",
    },
    {
      name: 'a secret and a certificate',
      write: () => ({ client_secret: 'x', client_certificate: pem }),
      error: exclusive,
    },
    {
      name: 'an audience and a certificate',
      write: () => ({ identity_token_audience: 'a', client_certificate: pem }),
      error: exclusive,
    },
    { name: 'an unknown type', write: () => ({ auth_type: 'x' }), error: 'unknown auth_type "x"' },
    {
      name: 'a type without its secret',
      write: () => ({ auth_type: 'root_creds' }),
      error: 'auth_type root_creds requires client_secret',
    },
    {
      name: 'a type without its client id',
      write: () => ({ auth_type: 'plugin_wif', client_id: '' }),
      error: 'auth_type plugin_wif requires client_id',
    },
    {
      name: 'a token file that the process does not have',
      write: () => ({ auth_type: 'aks_wif' }),
      error: 'auth_type aks_wif requires AZURE_FEDERATED_TOKEN_FILE',
    },
    {
      name: 'a certificate that cannot be used',
      write: () => ({ client_certificate: 'x', environment: 'y' }),
      error: 'client_certificate: it is neither PEM nor a PFX file in base64',
    },
    {
      name: 'a type whose certificate cannot be used',
      write: () => ({ auth_type: 'certificate', client_certificate: 'x' }),
      error: 'client_certificate: it is neither PEM nor a PFX file in base64',
    },
    {
      name: 'a rotation of what is not stored',
      write: () => ({ auth_type: 'msi', rotation_period: 3600 }),
      error: 'error registering rotation job: no client secret is configured',
    },
    {
      name: 'a rotation of an audience',
      write: () => ({ identity_token_audience: 'default', rotation_period: 3600 }),
      error: 'error registering rotation job: no client secret is configured',
    },
  ])('is refused with $name', async ({ write, error }) => {
    expect(await written({ ...ids, ...write() })).toMatchObject({ status: 400, error: [error] })
  })

  test('is refused once a field is cleared that its type requires', async () => {
    expect(
      await written(
        { ...ids, auth_type: 'certificate', client_certificate: pem },
        { client_certificate: '' },
      ),
    ).toMatchObject({ status: 400, error: ['auth_type certificate requires client_certificate'] })
  })
})

// docs/contract/cloud.md#certificates
describe('a certificate in the configuration', () => {
  const sealed = () =>
    createPrivateKey(made.private_key).export({
      ...({ type: 'pkcs8', format: 'pem' } as const),
      cipher: 'aes-256-cbc',
      passphrase: 'word',
    })

  test('is read with its password, which is not kept', async () => {
    const certificate = { client_certificate: `${sealed()}${made.certificate}` }
    const { path } = await written({ ...ids, ...certificate, client_certificate_password: 'word' })

    expect(await dataOf(path)).toMatchObject({
      client_certificate_thumbprint: made.thumbprint_sha256,
      client_certificate_expiration: made.expiration,
    })
    const { text: metrics } = await server.root.read('sys/metrics?format=prometheus')
    const end = Date.parse(made.expiration) / 1000
    expect(metrics).toMatch(
      new RegExp(`gatehouse_cloud_root_certificate_expiry_timestamp_seconds\\{mount="${path}/"\\} ${end}\n`),
    )
    expect(await written(ids, certificate)).toMatchObject({
      status: 400,
      error: ['client_certificate: wrong password'],
    })
  })

  test.each([
    { name: 'has no key', write: () => made.certificate, what: 'there is no private key' },
    {
      name: 'belongs to another key',
      write: () => made.private_key + another.certificate,
      what: 'the private key does not match the certificate',
    },
    {
      name: 'has ended',
      write: () => ended.private_key + ended.certificate,
      what: expect.stringMatching(/^the certificate has ended on /),
    },
  ])('that $name is refused, and nothing is stored', async ({ write, what }) => {
    const refused = await written({ ...ids, client_certificate: write() })
    const text = String((refused.error as unknown[])[0])

    expect([refused.status, text.replace(/^client_certificate: /, '')]).toEqual([400, what])
    expect(text).toMatch(/^client_certificate: /)
    expect(await dataOf(refused.path)).toMatchObject({ tenant_id: '' })
  })
})

describe('config/certificate', () => {
  const certificate = async (path: string) => (await server.root.read(`${path}/config/certificate`)).body.data

  test('makes a key here and shows a certificate for it, which another call replaces', async () => {
    const { path } = await written({ ...ids, root_password_ttl: 86_400 })
    const accessor = (await server.root.read(`sys/mounts/${path}`)).body.data?.['accessor']
    const none = await server.root.read(`${path}/config/certificate`)

    const first = await server.root.write(`${path}/config/certificate`, {})
    const shownFirst = await certificate(path)
    const second = await server.root.write(`${path}/config/certificate`, { ttl: '2h' })

    expect([none.status, none.text.trim()]).toEqual([404, '{"errors":[]}'])
    expect([shownFirst, await certificate(path)]).toEqual([first.body.data, second.body.data])
    for (const [{ status, text, body }, seconds] of [
      [first, 86_400],
      [second, 7200],
    ] as const) {
      const parsed = new X509Certificate(String(body.data?.['certificate']))
      const digits = (fingerprint: string) => fingerprint.replaceAll(':', '').toLowerCase()
      expect([status, body.data]).toEqual([
        200,
        {
          certificate: expect.stringMatching(
            /^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/,
          ),
          thumbprint: digits(parsed.fingerprint),
          thumbprint_sha256: digits(parsed.fingerprint256),
          expiration: parsed.validToDate.toISOString(),
          command: "az ad app credential reset --id 'c' --append --cert @gatehouse-root.pem",
        },
      ])
      expect(parsed.subject).toBe(`CN=gatehouse-root-${String(accessor)}`)
      expect(parsed.verify(parsed.publicKey)).toBe(true)
      expect(parsed.publicKey.asymmetricKeyDetails?.modulusLength).toBe(2048)
      const left = (parsed.validToDate.getTime() - Date.now()) / 1000
      expect(left).toBeGreaterThan(seconds - 300)
      expect(left).toBeLessThanOrEqual(seconds)
      expect(text).not.toContain('PRIVATE')
    }
    // it is used only with auth_type certificate, and shown in the configuration once it was accepted
    expect(await dataOf(path)).not.toHaveProperty('client_certificate_thumbprint')
    const { body } = await server.root.read(`${path}/config/identity`)
    expect(body.data).toMatchObject({ auth_type: 'msi' })
  })
})
