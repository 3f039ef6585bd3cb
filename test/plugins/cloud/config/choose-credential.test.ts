import { describe, expect, test } from 'vitest'
import {
  chooseCredential,
  type SignInValues,
} from '../../../../src/plugins/cloud/config/choose-credential.ts'

const certificate = {
  private_key: 'k',
  certificate: 'c',
  thumbprint: '00',
  thumbprint_sha256: '00',
  expiration: '2030-01-01T00:00:00.000Z',
}
const made = { ...certificate, thumbprint: '11' }
const nothing: SignInValues = {
  authType: '',
  clientId: 'id',
  clientSecret: '',
  audience: '',
  managedIdentityClientId: '',
  certificate: undefined,
  madeCertificate: undefined,
  tokenFile: undefined,
  identityTokenTtl: 0,
  isHostOffered: true,
}
const everything: SignInValues = {
  ...nothing,
  clientSecret: 's',
  certificate,
  audience: 'a',
  managedIdentityClientId: 'm',
  tokenFile: '/token',
}
const noCredential =
  'no credential is configured: set client_secret, client_certificate or identity_token_audience'
const notOffered = 'the identity of this host is not offered to this mount'

// docs/contract/cloud.md#sign-in
describe('without an auth_type, the root signs in with', () => {
  test.each([
    { name: 'its secret', values: everything, type: 'root_creds' },
    { name: 'its certificate', values: { ...everything, clientSecret: '' }, type: 'certificate' },
    {
      name: 'a token of the mount, if it has an audience',
      values: { ...everything, clientSecret: '', certificate: undefined },
      type: 'plugin_wif',
    },
    { name: 'the token file', values: { ...nothing, tokenFile: '/token' }, type: 'aks_wif' },
    { name: 'the identity of the machine', values: nothing, type: 'msi' },
    {
      name: 'nothing that the operator has not offered',
      values: { ...nothing, tokenFile: '/token', isHostOffered: false },
      refusal: noCredential,
    },
    {
      name: 'nothing that an operator still has to upload',
      values: { ...nothing, madeCertificate: made, isHostOffered: false },
      refusal: noCredential,
    },
  ])('$name', ({ values, type, refusal }) => {
    expect(chooseCredential({ ...values, authType: '' })).toMatchObject(refusal ? { refusal } : { type })
  })
})

describe('an auth_type decides alone', () => {
  test.each([
    { authType: 'root_creds', lacks: { clientSecret: '' }, field: 'client_secret' },
    { authType: 'certificate', lacks: { certificate: undefined }, field: 'client_certificate' },
    { authType: 'plugin_wif', lacks: { audience: '' }, field: 'identity_token_audience' },
    { authType: 'aks_wif', lacks: { tokenFile: undefined }, field: 'AZURE_FEDERATED_TOKEN_FILE' },
    { authType: 'msi_wif', lacks: { managedIdentityClientId: '' }, field: 'managed_identity_client_id' },
  ] as const)('$authType requires $field and a client id', ({ authType, lacks, field }) => {
    const values = { ...everything, authType }

    expect([
      chooseCredential(values),
      chooseCredential({ ...values, ...lacks }),
      chooseCredential({ ...values, clientId: '' }),
    ]).toMatchObject([
      { type: authType, clientId: 'id' },
      { refusal: `auth_type ${authType} requires ${field}` },
      { refusal: 'client_id is required' },
    ])
  })

  test('msi requires nothing, and its client id chooses an identity', () => {
    expect([
      chooseCredential({ ...everything, authType: 'msi', clientId: '' }),
      chooseCredential({ ...everything, authType: 'msi' }),
    ]).toEqual([
      { type: 'msi', clientId: '', isLastResort: false },
      { type: 'msi', clientId: 'id', isLastResort: false },
    ])
  })

  test('certificate uses one that an operator uploads if there is no other', () => {
    const values = { ...nothing, authType: 'certificate', madeCertificate: made } as const

    expect([chooseCredential(values), chooseCredential({ ...values, certificate })]).toMatchObject([
      { certificate: made },
      { certificate },
    ])
  })

  test.each(['aks_wif', 'msi', 'msi_wif'] as const)(
    '%s is refused unless the operator offers it',
    (authType) => {
      expect(chooseCredential({ ...everything, authType, isHostOffered: false })).toEqual({
        refusal: notOffered,
      })
    },
  )
})

test('an identity token lives for an hour unless the configuration says otherwise', () => {
  const values = { ...nothing, audience: 'a' }

  expect([chooseCredential(values), chooseCredential({ ...values, identityTokenTtl: 60 })]).toMatchObject([
    { ttl: 3600 },
    { ttl: 60 },
  ])
})
