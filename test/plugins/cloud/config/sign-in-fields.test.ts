import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemRandom } from '../../../../src/lib/random.ts'
import { makeCertificate } from '../../../../src/plugins/cloud/certificates/make-certificate.ts'
import type { ClientCertificate } from '../../../../src/plugins/cloud/certificates/client-certificate.ts'
import { startTestServer, type TestServer } from '../../../support/start-server.ts'

const ids = { subscription_id: 's', tenant_id: 't', client_id: 'c' }
const exclusive = "only one of 'client_secret', 'client_certificate' or 'identity_token_audience' can be set"

let server: TestServer
let made: ClientCertificate
let pem: string

beforeAll(async () => {
  server = await startTestServer({ settings: { DEFAULT_MOUNTS: '' } })
  made = await makeCertificate({ commonName: 'root', now: Date.now(), seconds: 86_400, random: systemRandom })
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
      ...{ auth_type: 'certificate', client_certificate: pem, managed_identity_client_id: 'm' },
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
