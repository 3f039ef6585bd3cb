import { compactVerify, importJWK } from 'jose'
import type { ApiError } from './api-error.ts'
import { type Assertion, audiencesOf, isInTime, readAssertion } from './assertion.ts'
import type { Call } from './call.ts'
import { isSeen, seenOf } from './consistency.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { isNamedBy } from './key-credentials.ts'
import { loginError, missingParameter } from './login-errors.ts'
import type { Settings } from './settings.ts'
import type { Application, Tenant } from './tenant.ts'
import type { TokenBook } from './tokens.ts'
import type { Trust } from './trusts.ts'

export type AssertionParts = {
  tenant: Tenant
  tokens: TokenBook
  issuerKeys: IssuerKeys
  settings(): Settings
}

const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const ownAlgorithms = ['RS256', 'PS256']
const entraIssuer = 'https://sts.windows.net/'

/**
 * Verifies an assertion that replaces a secret: signed with a certificate of the application, or by a foreign
 * issuer that the application trusts. simulators/directory/README.md
 */
export async function checkAssertion(
  parts: AssertionParts,
  call: Call,
  application: Application,
): Promise<void> {
  const { client_assertion: text, client_assertion_type: type } = call.body
  if (type !== jwtBearer) throw missingParameter('client_assertion_type')
  const assertion = readAssertion(String(text))
  if (assertion?.claims.iss === undefined || assertion.claims.sub === undefined)
    throw refused(50027, 'JWT token is invalid or malformed.')
  const isOwn = assertion.claims.iss.toLowerCase() === application.appId
  await (isOwn
    ? checkOwn(parts, call, application, assertion)
    : checkForeign(parts, call, application, assertion))
  if (isInTime(assertion, call.view.now, parts.settings().issuers.clockSkewSeconds)) return
  throw outOfTime(assertion, call.view.now)
}

async function checkOwn(
  { tenant }: AssertionParts,
  { view, origin, path }: Call,
  application: Application,
  assertion: Assertion,
): Promise<void> {
  const { header, claims } = assertion
  checkAlgorithm(assertion, ownAlgorithms)
  if (header.x5t === undefined && header['x5t#S256'] === undefined)
    throw refused(50027, 'Invalid JWT token. No certificate thumbprint specified in token header.')
  const key = seenOf(view, application.keys, 'certificateToToken').find((one) => isNamedBy(header, one))
  if (key === undefined) throw badKey(application, header, 'The key was not found.')
  if (key.endsAt <= view.now || key.startsAt > view.now)
    throw badKey(application, header, 'The key used is expired.')
  if (!(await isSignedBy(assertion, key.publicKey, ownAlgorithms))) {
    const text = `Client assertion contains an invalid signature. [Reason - The key used is registered, but the signature does not match.]`
    throw refused(700027, text)
  }
  if (String(claims.sub).toLowerCase() !== application.appId)
    throw refused(
      700021,
      "Client assertion application identifier doesn't match 'client_id' parameter. Review the documentation at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .",
    )
  const base = `${origin}/${tenant.tenantId}`
  const audiences = [origin + path, `${base}/oauth2/v2.0/token`, `${base}/v2.0`]
  if (!audiencesOf(assertion).some((audience) => audiences.includes(audience)))
    throw refused(
      700023,
      'Client assertion audience claim does not match Realm issuer. Review the documentation at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .',
    )
}

async function checkForeign(
  parts: AssertionParts,
  call: Call,
  application: Application,
  assertion: Assertion,
): Promise<void> {
  const issuer = String(assertion.claims.iss)
  const isEntra = issuer.startsWith(entraIssuer) || issuer.startsWith(`${call.origin}/`)
  if (isEntra && !isOfUserAssignedIdentity(parts, assertion))
    throw refused(700222, 'AAD-issued tokens may not be used for federated identity flows.')
  checkTrusts(call, application, assertion)
  checkAlgorithm(assertion, ['RS256'])
  // the signature of a token of this tenant was checked when its identity was found
  if (isEntra) return
  const key = await parts.issuerKeys.find(issuer, assertion.header.kid)
  if (key?.kty !== 'RSA') {
    const text = `The certificate with identifier ${assertion.header.kid} used to sign the federated credential could not be found in the metadata of identity provider ${issuer}. Please validate that your Identity Provider's metadata exposes the key used to sign the incoming token.`
    throw refused(7000272, text)
  }
  if (!(await isSignedBy(assertion, await importJWK(key, 'RS256'), ['RS256'])))
    throw refused(50013, 'Assertion failed signature validation.')
}

/**
 * The exact comparison of issuer, subject and audience with those that the application trusts. A trust that has
 * not arrived yet is none: the code says what the others lack.
 */
function checkTrusts({ view }: Call, { trusts }: Application, assertion: Assertion): void {
  const { iss, sub = '' } = assertion.claims
  const audiences = audiencesOf(assertion)
  const isMeant = (trust: Trust) =>
    trust.issuer === iss && trust.subject === sub && trust.audiences.some((one) => audiences.includes(one))
  const seen = trusts.filter((trust) => isSeen(view, trust, 'trustToToken'))
  if (seen.some(isMeant)) return
  const advice =
    ' Check your federated identity credential Subject, Audience and Issuer against the presented assertion. See documentation at: https://learn.microsoft.com/entra/workload-id/workload-identity-federation'
  const presented = (number: number, what: string, more = '') =>
    refused(
      number,
      `No matching federated identity record found for presented assertion ${what}.${more}${advice}`,
    )
  const sameIssuer = seen.filter(({ issuer }) => issuer === iss)
  const sameSubject = sameIssuer.filter(({ subject }) => subject === sub)
  if (sameSubject.length > 0) throw presented(700212, `audience '${audiences.join(',')}'`)
  if (sameIssuer.some(({ subject }) => subject.toLowerCase() === sub.toLowerCase()))
    throw presented(
      7002138,
      `subject '${sub}'`,
      ' The subject matches with case-insensitive comparison, but not with case-sensitive comparison.',
    )
  if (sameIssuer.length > 0) throw presented(700213, `subject '${sub}'`)
  throw presented(700211, `issuer '${iss}'`)
}

/** Of all tokens of this tenant, the platform takes only those of user-assigned identities. */
function isOfUserAssignedIdentity({ tenant, tokens }: AssertionParts, { text }: Assertion): boolean {
  const claims = tokens.find(text)
  if (claims === undefined || claims.iss.startsWith(entraIssuer)) return false
  return tenant.managedIdentities
    .values()
    .some(({ appId, assigned }) => appId === claims.appid && assigned === 'user')
}

function checkAlgorithm({ header }: Assertion, algorithms: readonly string[]): void {
  if (algorithms.includes(String(header.alg))) return
  const text = `Invalid JWT token. '${header.alg}' is not a supported signature algorithm. Supported signing algorithms are: '${algorithms.join(', ')}'`
  throw refused(5002738, text)
}

async function isSignedBy(
  { text }: Assertion,
  key: Parameters<typeof compactVerify>[1],
  algorithms: string[],
): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms })
    return true
  } catch {
    return false
  }
}

function badKey({ appId }: Application, header: Assertion['header'], reason: string): ApiError {
  const thumbprint = Buffer.from(String(header['x5t#S256'] ?? header.x5t), 'base64url')
    .toString('hex')
    .toUpperCase()
  const text = `The certificate with identifier used to sign the client assertion is not registered on application. [Reason - ${reason}, Thumbprint of key used by client: '${thumbprint}', Please visit the Azure Portal, Graph Explorer or directly use MS Graph to see configured keys for app Id '${appId}'.]`
  return refused(700027, text)
}

function outOfTime({ claims: { nbf = 0, exp = 0 } }: Assertion, now: number): ApiError {
  const shown = (ms: number) => new Date(ms).toISOString()
  const text = `Client assertion is not within its valid time range. Current time: ${shown(now)}, assertion valid from ${shown(nbf * 1000)}, expiry time of assertion ${shown(exp * 1000)}. Review the documentation at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .`
  return refused(700024, text)
}

const refused = (number: number, text: string, status = 401) =>
  loginError(status, 'invalid_client', number, text)
