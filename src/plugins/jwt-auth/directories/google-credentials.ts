import { createPrivateKey, type KeyObject } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { SignJWT } from 'jose/jwt/sign'
import type { OutboundClient, OutboundResponse } from '../../../core/outbound/outbound.ts'
import { excerpt, quoted } from '../../../lib/text/go-text.ts'
import { parsedJson } from '../../../lib/text/json.ts'
import { redactSecrets } from '../../../logins/refusals/redact.ts'
import { asked, DirectoryError, jsonOf, member, shownBody, textMember } from './provider-calls.ts'

/** How to sign in to the directory, docs/contract/login-providers.md#gsuite */
export type GoogleSignIn = {
  /** Key of a service account: its text, or the path of a file with it. */
  readonly serviceAccount: string
  /** Administrator to act as. */
  readonly adminImpersonate: string
  /** Service account to act as if there is no key. */
  readonly impersonatePrincipal: string
}

/** A key of a service account, as issued by Google. */
type ServiceAccountKey = {
  readonly email: string
  readonly privateKey: string
  readonly keyId: string
  readonly tokenUri: string
}

/** An access token, and when it expires (milliseconds since the epoch). */
export type GoogleToken = { readonly text: string; readonly expiresAt: number }

type SignInParts = {
  readonly outbound: OutboundClient /** Milliseconds since the epoch. */
  readonly now: number
}

const directoryScopes = [
  'https://www.googleapis.com/auth/admin.directory.group.readonly',
  'https://www.googleapis.com/auth/admin.directory.user.readonly',
]
const cloudScope = 'https://www.googleapis.com/auth/cloud-platform'
const googleTokenUri = 'https://oauth2.googleapis.com/token'
/** The metadata server of a machine on Google Cloud. */
const machineTokenUrl =
  'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token'
const iamUrl = 'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts'
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const lifetimeSeconds = 3600
const maxFileSize = 64 * 1024

/**
 * Why a key cannot be used; undefined if it can, or if there is none. Never reveals the content of a file.
 */
export function serviceAccountProblem(given: string): string | undefined {
  const key = given === '' ? {} : readServiceAccount(given)
  return 'problem' in key ? `error parsing service account JSON: ${key.problem}` : undefined
}

/** An access token for the directory. Throws `DirectoryError`. */
export async function signInToGoogle(signIn: GoogleSignIn, parts: SignInParts): Promise<GoogleToken> {
  const { serviceAccount, adminImpersonate: subject, impersonatePrincipal: principal } = signIn
  if (serviceAccount !== '') return grantFor(usableKey(serviceAccount), subject, parts)
  if (principal === '') return machineToken(directoryScopes, parts)
  const own = await machineToken([cloudScope], parts)
  return asPrincipal(principal, subject, own.text, parts).catch((error: unknown) => {
    throw error instanceof DirectoryError
      ? new DirectoryError(`failed to impersonate principal: ${quoted(principal)}: ${error.message}`, {
          cause: error,
        })
      : error
  })
}

function usableKey(given: string): ServiceAccountKey {
  const key = readServiceAccount(given)
  if ('problem' in key) throw new DirectoryError(`error parsing service account JSON: ${key.problem}`)
  return key
}

/** Application default credentials: those of this machine. */
async function machineToken(scopes: readonly string[], { outbound, now }: SignInParts): Promise<GoogleToken> {
  const url = `${machineTokenUrl}?scopes=${encodeURIComponent(scopes.join(','))}`
  try {
    return tokenOf(await asked(() => outbound.get(url, { headers: { 'metadata-flavor': 'Google' } })), now)
  } catch (error) {
    if (!(error instanceof DirectoryError)) throw error
    throw new DirectoryError(`failed to find application default credentials: ${error.message}`, {
      cause: error,
    })
  }
}

/** RFC 7523: exchanges an assertion signed by the key for an access token. */
async function grantFor(key: ServiceAccountKey, subject: string, parts: SignInParts): Promise<GoogleToken> {
  const assertion = await new SignJWT({ scope: directoryScopes.join(' ') })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(key.keyId === '' ? {} : { kid: key.keyId }) })
    .setIssuer(key.email)
    .setAudience(key.tokenUri)
    .setIssuedAt(Math.floor(parts.now / 1000))
    .setExpirationTime(Math.floor(parts.now / 1000) + lifetimeSeconds)
    .setSubject(subject === '' ? key.email : subject)
    .sign(privateKeyOf(key))
  return exchange(assertion, key.tokenUri, parts)
}

async function exchange(
  assertion: string,
  url: string,
  { outbound, now }: SignInParts,
): Promise<GoogleToken> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const form = new URLSearchParams({ grant_type: jwtBearer, assertion }).toString()
  return tokenOf(await asked(() => outbound.post(url, form, { headers })), now, assertion)
}

/** With the principal's own signature if it acts for an administrator, else with its access token. */
async function asPrincipal(
  principal: string,
  subject: string,
  own: string,
  parts: SignInParts,
): Promise<GoogleToken> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${own}` }
  const call = (verb: string, body: object) =>
    asked(() =>
      parts.outbound.post(
        `${iamUrl}/${encodeURIComponent(principal.toWellFormed())}:${verb}`,
        JSON.stringify(body),
        { headers },
      ),
    )
  if (subject === '') {
    const answer = await call('generateAccessToken', {
      scope: directoryScopes,
      lifetime: `${lifetimeSeconds}s`,
    })
    const text = textMember(okJson(answer, own), 'accessToken')
    if (text === '') throw new DirectoryError('no access token in the answer')
    return { text, expiresAt: parts.now + lifetimeSeconds * 1000 }
  }
  const iat = Math.floor(parts.now / 1000)
  const claims = {
    iss: principal,
    sub: subject,
    scope: directoryScopes.join(' '),
    aud: googleTokenUri,
    iat,
    exp: iat + lifetimeSeconds,
  }
  const signed = textMember(
    okJson(await call('signJwt', { payload: JSON.stringify(claims) }), own),
    'signedJwt',
  )
  return exchange(signed, googleTokenUri, parts)
}

function tokenOf(answer: OutboundResponse, now: number, ...sent: readonly string[]): GoogleToken {
  if (answer.status !== 200)
    throw new DirectoryError(
      `oauth2: cannot fetch token: ${answer.status} ${answer.statusText}\nResponse: ${shownBody(answer, ...sent)}`,
    )
  const body = jsonOf(answer)
  const text = textMember(body, 'access_token')
  if (text === '') throw new DirectoryError('oauth2: server response missing access_token')
  const seconds = member(body, 'expires_in')
  return {
    text,
    expiresAt: now + (typeof seconds === 'number' ? Math.min(seconds, lifetimeSeconds) : 0) * 1000,
  }
}

/**
 * The JSON of a successful response of a Google API. Throws `DirectoryError` with Google's own text, without
 * the access token that was sent.
 */
export function okJson(answer: OutboundResponse, sent: string): unknown {
  if (answer.status === 200) return jsonOf(answer)
  const said = excerpt(redactSecrets(sent)(messageOf(answer)))
  throw new DirectoryError(
    `googleapi: ${said === '' ? `got HTTP response code ${answer.status}: ${shownBody(answer, sent)}` : `Error ${answer.status}: ${said}`}`,
  )
}

function messageOf(answer: OutboundResponse): string {
  try {
    return textMember(member(jsonOf(answer), 'error'), 'message')
  } catch {
    return ''
  }
}

function privateKeyOf({ privateKey }: ServiceAccountKey): KeyObject {
  try {
    return createPrivateKey(privateKey)
  } catch {
    // OpenSSL's message about a key stays out of responses
    throw new DirectoryError('the service account has no usable private key')
  }
}

/**
 * The text itself, or the content of the regular file it names. For a file, the error only says that it is
 * not a key, so that writing configurations does not reveal which files exist.
 */
function readServiceAccount(given: string): ServiceAccountKey | { readonly problem: string } {
  if (given.trimStart().startsWith('{')) return parseServiceAccount(given)
  const text = readKeyFile(given)
  const key = text === undefined ? undefined : parseServiceAccount(text)
  return key === undefined || 'problem' in key
    ? { problem: 'neither JSON nor a file with the key of a service account' }
    : key
}

function parseServiceAccount(text: string): ServiceAccountKey | { readonly problem: string } {
  const parsed = parsedJson(text)
  if (parsed === undefined) return { problem: 'not JSON' }
  const type = textMember(parsed, 'type')
  if (type !== 'service_account')
    return { problem: `'type' field is ${quoted(type)} (expected "service_account")` }
  return {
    email: textMember(parsed, 'client_email'),
    privateKey: textMember(parsed, 'private_key'),
    keyId: textMember(parsed, 'private_key_id'),
    tokenUri: textMember(parsed, 'token_uri') || googleTokenUri,
  }
}

/** Undefined if there is none, or if it is not a regular file or is too large. */
function readKeyFile(path: string): string | undefined {
  let file: number | undefined
  try {
    // opening a pipe must not block
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const facts = fstatSync(file)
    return facts.isFile() && facts.size <= maxFileSize ? readFileSync(file, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
