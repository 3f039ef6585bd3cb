import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, afterEach, expect, test } from 'vitest'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { selfSigned } from '../../support/certificates.ts'
import { type Answer, actAs, askToken, itemsOf, makeCredential, send } from './client.ts'

const directory = await startDirectory()
afterAll(() => directory[Symbol.asyncDispose]())
afterEach(() => directory.change({ forbidCertificates: false, directoryPermissions: 'All' }))
const root = await actAs(directory)
const trust = {
  name: 'ci-job',
  issuer: 'https://ci.example',
  subject: 'job',
  audiences: ['api://AzureADTokenExchange'],
}

const application = async (body = {}): Promise<{ path: string; id: string; appId: string }> => {
  const answer = await root.graph('POST', '/applications', { displayName: 'federated', ...body })
  const { id, appId } = answer.body
  return { path: `/applications/${id}`, id: String(id), appId: String(appId) }
}
const trustsOf = async (path: string) =>
  itemsOf(await root.graph('GET', `${path}/federatedIdentityCredentials`))
const upsert = (path: string, name: string, json: object, prefer = 'create-if-missing'): Promise<Answer> =>
  send(
    directory,
    'PATCH',
    `${directory.directoryUrl}/v1.0${path}/federatedIdentityCredentials(name='${name}')`,
    { token: root.directoryToken, json, headers: { prefer } },
  )

test('a trust is created, read by id and name, changed and deleted', async () => {
  const { path, appId } = await application()
  const trusts = `${path}/federatedIdentityCredentials`

  const created = await root.graph('POST', trusts, trust)
  const read = await root.graph('GET', `${trusts}/${created.body.id}`)
  const changed = await root.graph('PATCH', `${trusts}/${created.body.id}`, { subject: 'other' })
  const byName = await root.graph(
    'GET',
    `/applications(appId='${appId}')/federatedIdentityCredentials/ci-job`,
  )
  const deleted = await root.graph('DELETE', `${trusts}/ci-job`)
  const again = await root.graph('DELETE', `${trusts}/ci-job`)

  expect([created, read, changed, byName, deleted, again].map(({ status }) => status)).toEqual([
    201, 200, 204, 200, 204, 404,
  ])
  expect([read.body, byName.body]).toMatchObject([trust, { ...trust, subject: 'other' }])
  expect(await trustsOf(path)).toEqual([])
})

test('an upsert creates a missing trust if the client prefers so, and repeats without a change', async () => {
  const { path } = await application()
  const { name, ...fields } = trust

  const statuses = [
    (await upsert(path, name, fields, 'return=minimal')).status,
    (await upsert(path, name, fields)).status,
    (await upsert(path, name, fields)).status,
  ]

  expect(statuses).toEqual([404, 201, 204])
  expect(await trustsOf(path)).toMatchObject([trust])
})

test('a name, and an issuer with its subject, are unique in an application, which has at most 20 trusts', async () => {
  const { path } = await application()
  const post = (fields: object) =>
    root.graph('POST', `${path}/federatedIdentityCredentials`, { ...trust, ...fields })
  await post({})

  const sameName = await post({ subject: 'other' })
  const sameSubject = await post({ name: 'other' })
  const more = []
  for (let number = 2; number <= 21; number += 1)
    more.push(await post({ name: `ci-${number}`, subject: `${number}` }))

  expect([sameName.status, sameSubject.status]).toEqual([409, 409])
  expect(more.map(({ status }) => status)).toEqual([...Array.from({ length: 19 }, () => 201), 400])
})

test.each<[string, object]>([
  ['a name of two characters', { name: 'ci' }],
  ['a name of 121 characters', { name: 'x'.repeat(121) }],
  ['a name with other characters', { name: 'ci/ci' }],
  ['a subject of 601 characters', { subject: 'x'.repeat(601) }],
  ['an issuer that is no URL', { issuer: 'ci' }],
  ['two audiences', { audiences: ['a', 'b'] }],
])('a trust with %s is refused', async (_, wrong) => {
  const { path } = await application()

  const { status, body } = await root.graph('POST', `${path}/federatedIdentityCredentials`, {
    ...trust,
    name: 'a-name',
    ...wrong,
  })

  expect([status, body]).toMatchObject([400, { error: { code: 'Request_BadRequest' } }])
})

const [first, second] = [selfSigned(), selfSigned()]
const bytesOf = ({ cert }: { cert: string }) => new X509Certificate(cert).raw
const keyOf = (pair: { cert: string }, fields = {}) => ({
  type: 'AsymmetricX509Cert',
  usage: 'Verify',
  displayName: 'own',
  key: bytesOf(pair).toString('base64'),
  ...fields,
})
const thumbprint = (pair: { cert: string }) => createHash('sha1').update(bytesOf(pair)).digest()
const seconds = () => Math.floor(Date.now() / 1000)
const prove = ({ cert, key }: { cert: string; key: string }, id: string, claims = {}, alg = 'RS256') =>
  new SignJWT({
    iss: id,
    aud: '00000002-0000-0000-c000-000000000000',
    nbf: seconds(),
    exp: seconds() + 600,
    ...claims,
  })
    .setProtectedHeader({ alg, x5t: thumbprint({ cert }).toString('base64url') })
    .sign(createPrivateKey(key))

test('an application is created with a certificate that signs in; its bytes are shown if selected', async () => {
  const { path, appId } = await application({ keyCredentials: [keyOf(first)] })
  await root.graph('POST', '/servicePrincipals', { appId })
  const assertion = await new SignJWT({
    iss: appId,
    sub: appId,
    exp: seconds() + 600,
    aud: `${directory.authorityUrl}/${directory.tenantId}/oauth2/v2.0/token`,
  })
    .setProtectedHeader({ alg: 'PS256', x5t: thumbprint(first).toString('base64url') })
    .sign(createPrivateKey(first.key))

  const whole = await root.graph('GET', path)
  const selected = await root.graph('GET', `${path}?$select=id,keyCredentials`)
  const { status } = await askToken(directory, {
    clientId: appId,
    secret: '',
    extra: {
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    },
  })

  const shown = { displayName: 'own', customKeyIdentifier: thumbprint(first).toString('hex').toUpperCase() }
  expect(whole.body.keyCredentials).toMatchObject([{ ...shown, key: null }])
  expect(selected.body.keyCredentials).toMatchObject([{ ...shown, key: keyOf(first).key }])
  expect(status).toBe(200)
})

test('a change replaces the certificates, and keeps those it names by key id', async () => {
  const { path } = await application({ keyCredentials: [keyOf(first)] })
  const shown = async () => Object((await root.graph('GET', path)).body).keyCredentials
  const [{ keyId }] = await shown()

  await root.graph('PATCH', path, { keyCredentials: [{ keyId }, keyOf(second, { displayName: 'second' })] })
  const both = await shown()
  await root.graph('PATCH', path, { keyCredentials: [] })

  expect(both).toMatchObject([{ keyId }, { displayName: 'second' }])
  expect(await shown()).toEqual([])
})

test('a proof by a present certificate adds and removes certificates, without any permission', async () => {
  directory.change({ directoryPermissions: 'None' })
  const { rootApplicationId: id } = directory
  const { keyId: firstId } = directory.admin.addCertificate(id, first.cert)
  const own = await actAs(directory)

  const added = await own.graph('POST', `/applications/${id}/addKey`, {
    keyCredential: keyOf(second),
    passwordCredential: null,
    proof: await prove(first, id),
  })
  const removed = await own.graph('POST', `/applications/${id}/removeKey`, {
    keyId: firstId,
    proof: await prove(second, id),
  })
  const unknown = await own.graph('POST', `/applications/${id}/removeKey`, {
    keyId: firstId,
    proof: await prove(second, id),
  })
  const byRemoved = await own.graph('POST', `/applications/${id}/removeKey`, {
    keyId: firstId,
    proof: await prove(first, id),
  })
  directory.admin.remove(String(added.body.keyId))

  expect(added).toMatchObject({ status: 200, body: { keyId: expect.any(String), displayName: 'own' } })
  expect([removed.status, unknown.status, byRemoved.status]).toEqual([204, 400, 401])
})

test('a proof with another issuer, audience, lifetime, time, algorithm or key is refused', async () => {
  const { path, id } = await application({ keyCredentials: [keyOf(first)] })
  const add = async (proof: string | undefined) =>
    (await root.graph('POST', `${path}/addKey`, { keyCredential: keyOf(second), proof })).status
  const wrong = [
    prove(first, crypto.randomUUID()),
    prove(first, id, { aud: 'other' }),
    prove(first, id, { exp: seconds() + 700 }),
    prove(first, id, { nbf: seconds() - 500, exp: seconds() - 1 }),
    prove(first, id, {}, 'PS256'),
    prove(second, id),
    prove({ cert: first.cert, key: second.key }, id),
  ]

  const statuses = []
  for (const proof of wrong) statuses.push(await add(await proof))

  expect([...statuses, await add(undefined), await add(await prove(first, id))]).toEqual([
    ...wrong.map(() => 401),
    401,
    200,
  ])
})

test('a certificate that is none, has ended, or is forbidden by a policy is refused', async () => {
  const bodies = [
    { key: 'AAAA' },
    { endDateTime: '2020-01-01T00:00:00Z' },
    { endDateTime: '2999-01-01T00:00:00Z' },
  ]
  const create = (fields: object) =>
    root.graph('POST', '/applications', { displayName: 'x', keyCredentials: [keyOf(first, fields)] })

  const answers = []
  for (const fields of bodies) answers.push(await create(fields))
  directory.change({ forbidCertificates: true })
  const forbidden = await create({})

  expect(answers.map(({ status, body }) => [status, Object(body.error).message])).toEqual([
    [400, 'Key value is invalid certificate'],
    [400, 'Key credential end date is invalid.'],
    [400, 'Key credential end date is invalid.'],
  ])
  expect(forbidden).toMatchObject({
    status: 400,
    body: { error: { code: 'CredentialTypeNotAllowedAsPerAppPolicy' } },
  })
})

test('debris has trusts, certificates and app roles that nobody uses', async () => {
  await using fresh = await startDirectory()
  const actor = await actAs(fresh)
  const { id, appId, principalId, secret } = await makeCredential(actor)
  await actor.graph('PATCH', `/applications/${id}`, { keyCredentials: [keyOf(first)] })
  await actor.graph('POST', `/applications/${id}/federatedIdentityCredentials`, trust)
  const resource = (await actor.graph('GET', `/servicePrincipals(appId='${fresh.orders.appId}')`)).body
  await actor.graph('POST', `/servicePrincipals/${resource.id}/appRoleAssignedTo`, {
    principalId,
    resourceId: resource.id,
    appRoleId: Object(resource.appRoles)[0].id,
  })
  const kinds = (inUse: Parameters<typeof fresh.debris>[0]) =>
    fresh
      .debris(inUse)
      .map(({ kind }) => kind)
      .toSorted()

  expect(kinds({ clientIds: [appId], secrets: [secret], trusts: ['ci-job'] })).toEqual([])
  expect(kinds({ clientIds: [appId], secrets: [secret] })).toEqual(['federated-credential'])
  expect(kinds({})).toEqual([
    'app-role-assignment',
    'application',
    'certificate',
    'federated-credential',
    'password',
    'service-principal',
  ])
})
