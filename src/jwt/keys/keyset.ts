import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../lib/system/clock.ts'
import { excerpt, quoted } from '../../lib/text/go-text.ts'
import { discreetRefusal, type Refusal, refusal, reworded } from '../../logins/refusals/refusal.ts'
import { type Algorithm, isSupportedAlgorithm, supportedAlgorithms } from '../jws/algorithms.ts'
import type { CheckQueue } from '../jws/check-queue.ts'
import { type Jws, type JwsLimits, malformedPayload, parseClaims, parseJws } from '../jws/jws.ts'
import { type SignatureChecks, verifyWithAny } from '../jws/signature.ts'
import { ownMember, type StrictObject } from '../jws/strict-json.ts'
import { malformedToken } from '../jws/token-shape.ts'
import type { DiscoveryDocument } from './discovery.ts'
import { KeyFetchError, type KeySource } from './fetch-jwk-set.ts'
import type { JwkSet, SkippedKey, UsableKey } from './jwk-set.ts'
import type { ParsedPublicKey } from './public-key-pem.ts'
import { type KeySetParts, RemoteKeys, type RemoteKeysParts } from './shared-sources.ts'
import { SourceHistory } from './source-history.ts'
import { type AllowedKeys, isAllowed, thumbprintOf } from './thumbprint.ts'

/** What all key sets depend on. */
export type KeysetParts = RemoteKeysParts & {
  readonly clock: Clock
  readonly queue: CheckQueue
  readonly limits: JwsLimits
  /** Logins by other keys are refused. */
  readonly allowed?: AllowedKeys
}

/** The settings that keys which are never fetched depend on. */
type StaticKeysetParts = Omit<KeysetParts, keyof RemoteKeysParts>

/** A token with a valid signature. Its claims are still unchecked. */
export type VerifiedToken = {
  readonly claims: StrictObject
  readonly algorithm: Algorithm
  /** The header's `kid`; "" if absent. */
  readonly keyId: string
  /** The header's `typ`. */
  readonly type: unknown
  /** Header and payload as they are in the token. */
  readonly signedText: string
  readonly signer: KeyObject
}

/**
 * The keys of a mount. They verify a token's signature, or return the refusal for the caller.
 * docs/contract/jwt.md#login-in-this-order
 */
export type Keyset = {
  /** `client`: the address that sent the token. */
  verify(token: string, client: string): Promise<VerifiedToken | Refusal>
  /** Whether a token with this key id may still be signed by this key. Fetches nothing. */
  has(keyId: string, key: KeyObject): boolean
  /** Where the keys come from, with the keys known now. */
  sources(): readonly KeysetSource[]
  /** Fetches all sources now, unless that happened too often recently. The sources report failures. */
  refresh(): Promise<void>
}

/** One source of keys. */
export type KeysetSource = {
  readonly kind: 'static' | 'jwks' | 'discovery'
  /** Empty for keys in the configuration. */
  readonly url: string
  readonly keys: readonly UsableKey[]
  /** Keys that arrived but are not used. */
  readonly skipped: readonly SkippedKey[]
  /** The history of all fetches from there. */
  readonly histories: readonly SourceHistory[]
  /** When these keys were fetched, in milliseconds since the epoch. */
  readonly keysFetchedAt?: number | undefined
  /** The newest discovery document; or of another issuer's, that issuer. */
  readonly document?:
    | { readonly at: number; readonly value?: Partial<DiscoveryDocument>; readonly issuer?: string }
    | undefined
}

const validating = 'error validating token: '
const signing = `${validating}error verifying token signature: `
const noStaticKey = 'no known key successfully validated the token signature'
const noRemoteKey = 'failed to verify id token signature'
const malformed = 'oidc: malformed jwt: '
/** What a caller is told, whatever the key server responded. */
const keysUnavailable = 'keys of the provider are unavailable'

/** Keys in the configuration. All are tried; key ids are ignored. docs/contract/jwt.md#login-in-this-order */
export class StaticKeyset implements Keyset {
  readonly #keys: readonly KeyObject[]
  readonly #skipped: readonly SkippedKey[]
  /** Fetches nothing; records only the clock offset of the tokens. */
  readonly #history: SourceHistory
  readonly #parts: StaticKeysetParts

  /** A stored configuration may predate a rule that one of its keys breaks; that key is skipped. */
  constructor(keys: readonly ParsedPublicKey[], parts: StaticKeysetParts) {
    this.#keys = keys.flatMap((parsed) => ('key' in parsed ? [parsed.key] : []))
    this.#skipped = keys.flatMap((parsed) => ('error' in parsed ? [{ id: '', problem: parsed.error }] : []))
    this.#history = new SourceHistory(parts.clock)
    this.#parts = parts
  }

  async verify(token: string, client: string): Promise<VerifiedToken | Refusal> {
    const jws = parseJws(token, this.#parts.limits)
    if ('malformed' in jws) return prefixed(signing, malformedToken(jws.malformed, token))
    const { algorithm } = jws
    if (!isSupportedAlgorithm(algorithm)) return refusal('algorithm_unsupported', signing + noStaticKey)
    return prefixed(signing, await this.verifySignature({ ...jws, algorithm }, client))
  }

  /** The claims of a token with a valid signature; the refusal's text lacks its prefix. */
  async verifySignature(jws: ReadableJws, client: string): Promise<VerifiedToken | Refusal> {
    const { queue, allowed } = this.#parts
    const { algorithm } = jws
    const signer = await verifyWithAny(jws, algorithm, this.#keys, { queue, client })
    if (signer === undefined) return refusal('signature_invalid', noStaticKey)
    return verified(jws, signer, { algorithm, otherwise: noStaticKey, history: this.#history, allowed })
  }

  has(_keyId: string, key: KeyObject): boolean {
    return this.#keys.includes(key) && isAllowed(key, this.#parts.allowed)
  }

  sources(): readonly KeysetSource[] {
    return [
      {
        kind: 'static',
        url: '',
        keys: this.#keys.map((key) => ({ id: '', algorithm: '', key })),
        skipped: this.#skipped,
        histories: [this.#history],
      },
    ]
  }

  async refresh(): Promise<void> {
    // there is nothing to fetch
  }
}

/** The keys of one JWKS URL. */
export class JwksKeyset implements Keyset {
  readonly #keys: RemoteKeys
  readonly #parts: KeySetParts<KeysetParts>

  constructor(source: KeySource, parts: KeySetParts<KeysetParts>) {
    this.#keys = new RemoteKeys(source, parts)
    this.#parts = parts
  }

  async verify(token: string, client: string): Promise<VerifiedToken | Refusal> {
    const jws = readableJws(token, this.#parts.limits)
    if ('reason' in jws) return prefixed(signing + malformed, jws)
    return signatureChecked(await this.verifySignature(jws, client))
  }

  /** The claims of a token with a valid signature; the refusal's text lacks its prefix. */
  verifySignature(jws: ReadableJws, client: string): Promise<VerifiedToken | Refusal> {
    return verifyWithRemote(jws, this.#keys, { ...this.#parts, client })
  }

  has(keyId: string, key: KeyObject): boolean {
    return hasKey(this.#keys, keyId, key) && isAllowed(key, this.#parts.allowed)
  }

  sources(): readonly KeysetSource[] {
    return [sourceOf(this.#keys)]
  }

  refresh(): Promise<void> {
    return refreshed(this.#keys)
  }
}

const hasKey = ({ current }: RemoteKeys, keyId: string, key: KeyObject): boolean =>
  current?.has(keyId, key) === true

const sourceOf = ({ source, current, history }: RemoteKeys): KeysetSource => ({
  kind: 'jwks',
  url: source.url,
  keys: current?.usable() ?? [],
  skipped: current?.skipped() ?? [],
  histories: [history],
  keysFetchedAt: current && history.fetchedAt,
})

/** The source's history has the cause of the failure. */
async function refreshed(keys: RemoteKeys): Promise<void> {
  try {
    await keys.newerThan(keys.current)
  } catch (error) {
    if (!(error instanceof KeyFetchError)) throw error
  }
}

/**
 * Several JWKS URLs. The first one that has the key id is used; without a key id, all are tried in order.
 * docs/contract/jwt.md#login-in-this-order
 */
export class MultiJwksKeyset implements Keyset {
  readonly #pairs: readonly RemoteKeys[]
  readonly #parts: KeysetParts

  constructor(sources: readonly KeySource[], parts: KeysetParts) {
    this.#pairs = sources.map((source) => new RemoteKeys(source, parts))
    this.#parts = parts
  }

  async verify(token: string, client: string): Promise<VerifiedToken | Refusal> {
    const jws = readableJws(token, this.#parts.limits)
    if ('reason' in jws) return prefixed(`${validating}error parsing token: `, jws)
    if (jws.keyId === '') return this.#verifyWithEach(jws, client)
    const known = this.#pairWith(jws.keyId) ?? (await this.#refreshedPairWith(jws.keyId))
    if ('reason' in known) return known
    return signatureChecked(await verifyWithRemote(jws, known, { ...this.#parts, client }))
  }

  has(keyId: string, key: KeyObject): boolean {
    const named = keyId === '' ? this.#pairs : [this.#pairWith(keyId) ?? []].flat()
    return named.some((pair) => hasKey(pair, keyId, key)) && isAllowed(key, this.#parts.allowed)
  }

  sources(): readonly KeysetSource[] {
    return this.#pairs.map(sourceOf)
  }

  async refresh(): Promise<void> {
    await Promise.all(this.#pairs.map(refreshed))
  }

  async #verifyWithEach(jws: ReadableJws, client: string): Promise<VerifiedToken | Refusal> {
    let last = refusal('signature_invalid', signing + noRemoteKey)
    const failures: string[] = []
    for (const pair of this.#pairs) {
      const result = signatureChecked(await verifyWithRemote(jws, pair, { ...this.#parts, client }))
      // no other key can have signed it
      if (!('reason' in result) || result.reason === 'key_not_allowed') return result
      if (last.cause !== undefined) failures.push(last.cause)
      last = result
    }
    return withCauses(last, failures)
  }

  #pairWith(keyId: string): RemoteKeys | undefined {
    return this.#pairs.find((pair) => pair.current?.hasKeyId(keyId) === true)
  }

  /** A URL that is down does no harm if another one has the key. */
  async #refreshedPairWith(keyId: string): Promise<RemoteKeys | Refusal> {
    const refreshes = await Promise.allSettled(this.#pairs.map((pair) => pair.newerThan(pair.current)))
    const found = this.#pairWith(keyId)
    if (found !== undefined) return found
    const searching = `${validating}error searching for key set with kid ${excerpt(keyId)}: `
    const refused = this.#pairs.every((pair) => pair.current === undefined || pair.current.isEmpty)
      ? refusal(
          'keys_unavailable',
          `${searching}failed to refresh all ${this.#pairs.length} JWKS caches - check network connectivity and JWKS endpoints`,
        )
      : refusal('key_unknown', `${searching}no key found with kid ${excerpt(keyId)} in any JWKS endpoint`)
    return withCauses(refused, refreshes.flatMap(failureOf))
  }
}

/** A refusal that may be due to a URL that is down, although another one has answered. */
const withCauses = (refused: Refusal, causes: readonly string[]): Refusal =>
  causes.length === 0 ? refused : { ...refused, cause: [refused.cause ?? refused.text, ...causes].join('; ') }

const failureOf = (refresh: PromiseSettledResult<unknown>): string[] =>
  refresh.status === 'rejected' && refresh.reason instanceof KeyFetchError ? [refresh.reason.message] : []

/** A JWS of a supported algorithm. */
export type ReadableJws = Jws & { readonly algorithm: Algorithm }

/** The refusal's text still lacks its prefix. */
function readableJws(token: string, limits: JwsLimits): ReadableJws | Refusal {
  const jws = parseJws(token, limits)
  if ('malformed' in jws) return malformedToken(jws.malformed, token)
  const { algorithm } = jws
  return isSupportedAlgorithm(algorithm)
    ? { ...jws, algorithm }
    : refusal('algorithm_unsupported', unexpectedAlgorithm(algorithm, supportedAlgorithms))
}

/** docs/contract/jwt.md#login-in-this-order, docs/contract/oidc.md#the-callback-in-this-order */
export function unexpectedAlgorithm(algorithm: string, accepted: readonly string[]): string {
  return `unexpected signature algorithm ${quoted(algorithm)}; expected [${accepted.map((name) => JSON.stringify(name)).join(' ')}]`
}

const prefixed = <T extends object>(prefix: string, result: T | Refusal): T | Refusal =>
  'reason' in result ? reworded(result, (text) => prefix + text) : result

/** The outcome with the error texts of a JWT login. Without keys, the signature was not checked at all. */
function signatureChecked(result: VerifiedToken | Refusal): VerifiedToken | Refusal {
  if (!('reason' in result) || result.reason !== 'keys_unavailable') return prefixed(signing, result)
  return unavailableKeys(signing + (result.cause ?? ''))
}

/** The refusal of a JWT login whose keys could not be fetched. */
export const unavailableKeys = (cause: string): Refusal =>
  discreetRefusal('keys_unavailable', { text: `error verifying token: ${keysUnavailable}`, cause })

/**
 * Tries cached keys first, then fetches keys if none of them verifies the token. docs/contract/jwt.md#keys
 */
async function verifyWithRemote(
  jws: ReadableJws,
  keys: RemoteKeys,
  { allowed, ...checks }: SignatureChecks & { readonly allowed?: AllowedKeys },
): Promise<VerifiedToken | Refusal> {
  const signedBy = (set: JwkSet) => verifyWithAny(jws, jws.algorithm, set.candidates(jws.keyId), checks)
  const read = {
    algorithm: jws.algorithm,
    otherwise: `${malformed}payload is not a JSON object`,
    history: keys.history,
    allowed,
  }
  const cached = keys.current
  const signer = cached && (await signedBy(cached))
  if (signer !== undefined) return verified(jws, signer, read)
  try {
    const fresh = await keys.newerThan(cached)
    const freshSigner = fresh && (await signedBy(fresh))
    if (freshSigner !== undefined) return verified(jws, freshSigner, read)
  } catch (error) {
    if (!(error instanceof KeyFetchError)) throw error
    return discreetRefusal('keys_unavailable', {
      text: keysUnavailable,
      cause: `fetching keys oidc: ${error.message}`,
    })
  }
  // as if it could not be fetched: the provider is still being set up
  if (keys.current?.hasUsableKey === false)
    return discreetRefusal('keys_unavailable', {
      text: keysUnavailable,
      cause: 'the provider has no usable key',
    })
  const isKnown = jws.keyId === '' || keys.current?.hasKeyId(jws.keyId) === true
  return refusal(isKnown ? 'signature_invalid' : 'key_unknown', noRemoteKey)
}

type Reading = {
  readonly algorithm: Algorithm
  /** The refusal of a payload that is not an object. */
  readonly otherwise: string
  readonly history: SourceHistory
  readonly allowed: AllowedKeys
}

/** Of a token that was verified before, if the keys allowed now are others. `signer`: the thumbprint of its key. */
export const pinRefusal = (signer: string | undefined, allowed: AllowedKeys): Refusal | undefined =>
  signer === undefined || allowed === undefined || allowed.has(signer)
    ? undefined
    : reworded(keyNotAllowed(signer), (text) => signing + text)

/** docs/contract/key-sources.md#pinned-keys */
const keyNotAllowed = (signer: string): Refusal =>
  discreetRefusal('key_not_allowed', {
    text: 'the key that signed it is not allowed',
    cause: `the key ${signer} is not in allowed_key_thumbprints`,
  })

/** The claims of a token with a valid signature. */
function verified(
  jws: Jws,
  signer: KeyObject,
  { algorithm, otherwise, history, allowed }: Reading,
): VerifiedToken | Refusal {
  if (!isAllowed(signer, allowed)) return keyNotAllowed(thumbprintOf(signer))
  const claims = parseClaims(jws.payload)
  if (claims === undefined) return malformedPayload(jws.payload, otherwise)
  history.noteIssued(ownMember(claims, 'iat'))
  const { keyId, type, signedText } = jws
  return { claims, algorithm, keyId, type, signedText, signer }
}
