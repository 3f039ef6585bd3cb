import { createHash, createPrivateKey, randomUUID, X509Certificate } from 'node:crypto'
import { decodeJwt, SignJWT } from 'jose'
import { afterAll, expect, test } from 'vitest'
import { startIssuer } from '../../../simulators/ci-issuer/issuer.ts'
import type { SettingsInput } from '../../../simulators/directory/settings.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { selfSigned } from '../../support/certificates.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type Answer, askToken } from './client.ts'

const [pair, other] = [selfSigned(), selfSigned()]
const clock = new FakeClock()
const directory = await startDirectory({ now: () => clock.now() })
const issuer = await startIssuer({ algorithms: ['RS256', 'RS512'] })
afterAll(async () => {
  await directory[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})
const seconds = () => Math.floor(clock.now() / 1000)
const exchange = 'api://AzureADTokenExchange'
const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const present = (clientId: string, assertion: string, extra = {}): Promise<Answer> =>
  askToken(directory, {
    clientId,
    secret: '',
    extra: { client_assertion: assertion, client_assertion_type: jwtBearer, ...extra },
  })
const claims = (changed = {}) => ({
  iss: issuer.url,
  sub: 'repo:shop:main',
  aud: exchange,
  iat: seconds(),
  exp: seconds() + 600,
  ...changed,
})
const trusting = (fields = {}): { id: string; appId: string } => {
  const application = directory.admin.addApplication({ displayName: 'job' })
  directory.admin.addTrust(application.id, { issuer: issuer.url, subject: 'repo:shop:main', ...fields })
  return application
}
/** Changes settings for one test. */
function changed(settings: SettingsInput, back: SettingsInput): Disposable {
  directory.change(settings)
  return { [Symbol.dispose]: () => directory.change(back) }
}

test('an assertion of a trusted issuer, subject and audience gets a token of the application', async () => {
  const { appId } = trusting()

  const { status, body } = await present(appId, await issuer.sign(claims()))

  expect(status).toBe(200)
  expect(decodeJwt(String(body.access_token))).toMatchObject({ appid: appId, aud: directory.directoryUrl })
})

test.each<[string, object, number, number]>([
  ['an issuer nobody trusts', { iss: 'https://other.example' }, 401, 700211],
  ['an issuer with a trailing slash', { iss: `${issuer.url}/` }, 401, 700211],
  ['another subject', { sub: 'repo:shop:other' }, 401, 700213],
  ['a subject in other case', { sub: 'repo:Shop:main' }, 401, 7002138],
  ['another audience', { aud: 'api://Other' }, 401, 700212],
  ['an audience in other case', { aud: exchange.toLowerCase() }, 401, 700212],
  ['an end more than five minutes ago', { exp: seconds() - 301 }, 401, 700024],
  ['a start more than five minutes ahead', { nbf: seconds() + 301 }, 401, 700024],
  ['no end', { exp: undefined }, 401, 700024],
  ['no subject', { sub: undefined }, 401, 50027],
])('an assertion with %s is refused', async (_, wrong, status, code) => {
  const { appId } = trusting()

  const answer = await present(appId, await issuer.sign(claims(wrong)))

  expect(answer).toMatchObject({ status, body: { error: 'invalid_client', error_codes: [code] } })
})

test('an assertion is refused unless it is a JWT, of the right type, signed with RS256 by a published key', async () => {
  const { appId } = trusting()
  const good = await issuer.sign(claims())
  const forged = `${good.slice(0, good.lastIndexOf('.') + 1)}${Buffer.alloc(256, 1).toString('base64url')}`

  const answers = [
    await present(appId, 'x.y'),
    await present(appId, good, { client_assertion_type: 'other' }),
    await present(appId, await issuer.sign(claims(), { algorithm: 'RS512' })),
    await present(appId, await issuer.sign(claims(), { header: { kid: 'nobody' } })),
    await present(appId, forged),
  ]

  expect(answers.map(({ body }) => body.error_codes)).toEqual([
    [50027],
    [900144],
    [5002738],
    [7000272],
    [50013],
  ])
})

test('an unreachable issuer, one that refuses or redirects, and one with useless documents have their own codes', async () => {
  await using own = await startIssuer({ algorithms: ['RS256'] })
  const { appId } = trusting({ issuer: own.url })
  const ask = async () => (await present(appId, await own.sign(claims({ iss: own.url })))).body.error_codes

  const codes = []
  for (const trouble of [
    { kind: 'status', status: 500 },
    { kind: 'redirects', count: 1 },
    { kind: 'broken-json' },
    { kind: 'huge', bytes: 2_000_000 },
    { kind: 'foreign-issuer', issuer: 'https://other.example' },
  ] as const) {
    own.misbehave(trouble)
    codes.push(await ask())
  }
  await own.goDown()
  codes.push(await ask())
  await own.comeBack()
  own.behave()

  expect([codes, await ask()]).toEqual([[[501661], [501661], [90061], [90061], [90061], [50166]], undefined])
})

test('only the first hundred published keys count', async () => {
  await using own = await startIssuer({ algorithms: ['RS256'] })
  const { appId } = trusting({ issuer: own.url })
  const ask = async () => (await present(appId, await own.sign(claims({ iss: own.url })))).body.error_codes

  own.misbehave({ kind: 'many-keys', count: 100 }, 'jwks')
  const last = await ask()
  own.misbehave({ kind: 'many-keys', count: 99 }, 'jwks')

  expect([last, await ask()]).toEqual([[7000272], undefined])
})

test('keys are kept for the time of the settings, and fetched before it for an unknown key id', async () => {
  await using own = await startIssuer({ algorithms: ['RS256'] })
  const { appId } = trusting({ issuer: own.url })
  const ask = async () => (await present(appId, await own.sign(claims({ iss: own.url })))).status
  const fetched = () => own.requestsByPath.get('/.well-known/jwks')

  const first = [await ask(), await ask(), fetched()]
  await own.rotate({ keepOld: false })
  const afterRotation = [await ask(), fetched()]
  using _ = changed({ issuers: { refetchOnUnknownKey: false } }, { issuers: { refetchOnUnknownKey: true } })
  await own.rotate({ keepOld: false })
  const unknown = await ask()
  clock.advance(300)
  const later = [await ask(), fetched()]

  expect([first, afterRotation, unknown, later]).toEqual([[200, 200, 1], [200, 2], 401, [200, 3]])
})

test('an issuer can be placed at another address', async () => {
  const name = 'https://vault.example'
  const { appId } = trusting({ issuer: name })
  using _ = changed({ issuers: { addresses: { [name]: issuer.url } } }, { issuers: { addresses: {} } })

  const { body } = await present(appId, await issuer.sign(claims({ iss: name })))

  // its document names another issuer
  expect(body.error_codes).toEqual([90061])
})

test('a trust arrives at the token endpoint late, and leaves it late', async () => {
  const settings = { delaySeconds: { trustToToken: 60 } }
  using _ = changed(settings, { delaySeconds: { trustToToken: 0 } })
  const { id, appId } = directory.admin.addApplication({ displayName: 'late' })
  const trust = directory.admin.addTrust(id, { issuer: issuer.url, subject: 'repo:shop:main' })
  const ask = async () => (await present(appId, await issuer.sign(claims()))).body.error_codes

  const before = await ask()
  directory.admin.remove(trust.id)
  const removed = await ask()
  clock.advance(60)

  expect([before, removed, await ask()]).toEqual([undefined, undefined, [700211]])
})

test('a user-assigned identity trusts issuers as an application does', async () => {
  const [identity] = directory.userAssignedIdentities
  directory.admin.addTrust(identity.clientId, { issuer: issuer.url, subject: 'repo:shop:main' })

  const { status, body } = await present(identity.clientId, await issuer.sign(claims()))

  expect([status, decodeJwt(String(body.access_token)).oid]).toEqual([200, identity.servicePrincipalId])
})

const entra = () => `${directory.authorityUrl}/${directory.tenantId}/v2.0`
const identityToken = async (query: string) => {
  const url = `${directory.metadataUrl}/metadata/identity/oauth2/token?api-version=2018-02-01&${query}`
  const answer = await fetch(url, { headers: { metadata: 'true' } })
  const body: { access_token: string } = JSON.parse(await answer.text())
  return body.access_token
}

test("of the tenant's own tokens only those of user-assigned identities replace a secret", async () => {
  const [user] = directory.userAssignedIdentities
  const { id, appId } = directory.admin.addApplication({ displayName: 'root' })
  for (const { servicePrincipalId: subject } of [user, directory.systemAssignedIdentity])
    directory.admin.addTrust(id, { issuer: entra(), subject })
  const ofUser = await identityToken(`resource=${exchange}&client_id=${user.clientId}`)
  const ofSystem = await identityToken(`resource=${exchange}`)
  const forDirectory = await identityToken(`resource=${directory.directoryUrl}&client_id=${user.clientId}`)

  const answers = [ofUser, ofSystem, forDirectory].map(async (token) => (await present(appId, token)).body)

  expect((await Promise.all(answers)).map(({ error_codes }) => error_codes)).toEqual([
    undefined,
    [700222],
    [700222],
  ])
})

const keyed = (cert = pair.cert): { id: string; appId: string } => {
  const application = directory.admin.addApplication({ displayName: 'keyed' })
  directory.admin.addCertificate(application.id, cert)
  return application
}
const thumbprint = (cert: string, name: string) =>
  createHash(name).update(new X509Certificate(cert).raw).digest('base64url')
const tokenUrl = `${directory.authorityUrl}/${directory.tenantId}/oauth2/v2.0/token`

const signedBy = (
  { cert, key }: { cert: string; key: string },
  appId: string,
  { header = { 'x5t#S256': thumbprint(cert, 'sha256') } as object, alg = 'PS256', claim = {} } = {},
): Promise<string> =>
  new SignJWT({ iss: appId, sub: appId, aud: tokenUrl, exp: seconds() + 600, jti: randomUUID(), ...claim })
    .setProtectedHeader({ alg, typ: 'JWT', ...header })
    .sign(createPrivateKey(key))

test.each([
  ['PS256', { 'x5t#S256': thumbprint(pair.cert, 'sha256') }],
  ['RS256', { 'x5t#S256': thumbprint(pair.cert, 'sha256') }],
  ['RS256', { x5t: thumbprint(pair.cert, 'sha1') }],
])('an assertion signed with %s by a certificate of the application signs in', async (alg, header) => {
  const { appId } = keyed()

  const { status } = await present(appId, await signedBy(pair, appId, { alg, header }))

  expect(status).toBe(200)
})

test('an assertion of its own is refused for a wrong certificate, signature, subject, audience or time', async () => {
  const { appId } = keyed()
  const answers = [
    await present(appId, await signedBy(other, appId)),
    await present(appId, await signedBy({ cert: pair.cert, key: other.key }, appId)),
    await present(appId, await signedBy(pair, appId, { header: {} })),
    await present(appId, await signedBy(pair, appId, { alg: 'RS512' })),
    await present(appId, await signedBy(pair, appId, { claim: { sub: randomUUID() } })),
    await present(appId, await signedBy(pair, appId, { claim: { aud: 'https://other.example' } })),
    await present(appId, await signedBy(pair, appId, { claim: { exp: seconds() - 301 } })),
  ]

  expect(answers.map(({ body }) => body.error_codes)).toEqual([
    [700027],
    [700027],
    [50027],
    [5002738],
    [700021],
    [700023],
    [700024],
  ])
  expect(answers[0]?.body.error_description).toContain(
    `Thumbprint of key used by client: '${Buffer.from(thumbprint(other.cert, 'sha256'), 'base64url').toString('hex').toUpperCase()}'`,
  )
})

test('the journal has the header and claims of an assertion, but not its text', async () => {
  const { appId } = trusting()
  const assertion = await issuer.sign(claims())
  directory.journal.clear()
  await present(appId, assertion)

  const [entry] = directory.journal.entries({ operation: 'token' })

  expect(entry?.assertion).toMatchObject({ header: { alg: 'RS256' }, claims: { sub: 'repo:shop:main' } })
  expect(JSON.stringify(entry)).not.toContain(assertion)
})

test('a certificate that has ended is refused', async () => {
  const { appId } = keyed()
  clock.advance(3 * 86_400)

  const { body } = await present(appId, await signedBy(pair, appId))

  expect(body.error_codes).toEqual([700027])
})
