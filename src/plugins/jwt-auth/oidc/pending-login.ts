import { createHash } from 'node:crypto'
import { z } from 'zod'
import { base62, type Random } from '../../../lib/system/random.ts'
import { isReason } from '../../../logins/refusals/refusal.ts'
import { callbackModes } from '../config/role.ts'

/** Lifetime of a pending login. docs/contract/oidc.md#between */
export const lifetimeMs = 600_000

/**
 * How a login ended in the browser: as whom the person signed in, or why not. A poll gets it.
 * docs/contract/oidc.md#callback-modes
 */
const ending = z.union([
  z.object({
    name: z.string(),
    metadata: z.record(z.string(), z.string()),
    groups: z.array(z.string()).readonly(),
    /** Those that the role names by claims. */
    policies: z.array(z.string()).readonly().exactOptional(),
    /** Those of `oauth2_metadata`, by the names that the token's metadata has for them. */
    oauth2: z.record(z.string(), z.string()),
    /** The thumbprint of the key that signed the ID token. Absent in those of earlier versions. */
    signer: z.string().exactOptional(),
    /** Digest of what of the role let the person in. */
    role: z.string(),
  }),
  z.object({
    reason: z.string().refine(isReason),
    text: z.string(),
    /** The request that failed. */
    request_id: z.string(),
  }),
])

const client = z.object({ discovery_url: z.string(), id: z.string() }).optional()

/**
 * A login between the authorization URL and the callback. Times are milliseconds since the epoch.
 * docs/contract/oidc.md#between
 */
const pendingLogin = z.object({
  role: z.string(),
  /** Where it began: only there can it end. Absent in those of earlier versions. */
  client,
  redirect_uri: z.string(),
  nonce: z.string(),
  /** The PKCE verifier; empty if the provider sends an ID token instead of a code. */
  code_verifier: z.string(),
  /** SHA-256 of the client nonce; empty if there is none. */
  client_nonce: z.string(),
  bound_audiences: z.array(z.string()),
  /** Seconds; 0 means none. */
  max_age: z.number(),
  created: z.number(),
  /** The key of its second record. */
  listed: z.string(),
  /** Posted by the form; empty until then. */
  code: z.string(),
  id_token: z.string(),
  /** Whether the form said that the provider refused. */
  refused: z.boolean(),
  /** The provider's error in that form. */
  provider_error: z.object({ error: z.string(), error_description: z.string() }).optional(),
  /** The provider named by the form; empty if it named none. */
  issuer: z.string().default(''),
  /** Address of the client that began the login, for the page that asks for a confirmation. */
  address: z.string().default(''),
  /** One-time value of that page; empty if there is none, and after it was used. */
  confirmation: z.string().default(''),
  /** Whether the person has confirmed the form. */
  confirmed: z.boolean().default(false),
  /** When; 0 if unknown. */
  confirmed_at: z.number().default(0),
  mode: z.enum(callbackModes).default('client'),
  /** The provider's code for a device; empty in other modes. */
  device_code: z.string().default(''),
  /** Least seconds between polls for a device. */
  interval: z.number().default(0),
  /** When a device was last polled for; 0 if never. */
  polled: z.number().default(0),
  ending: ending.optional(),
  /** The limits of its token, and the client, which servers of earlier versions must not find. */
  scope: z
    .object({
      policies: z.array(z.string()).readonly().exactOptional(),
      paths: z.array(z.string()).readonly().exactOptional(),
      ttlSeconds: z.number().exactOptional(),
      client,
    })
    .optional(),
})
export type PendingLogin = z.output<typeof pendingLogin>

export type Ending = z.output<typeof ending>

/** A provider's error: RFC 6749 §4.1.2.1. */
export type ProviderError = NonNullable<PendingLogin['provider_error']>

/** The content of a provider's form. */
export type PostedForm = Pick<PendingLogin, 'code' | 'id_token' | 'refused' | 'issuer' | 'provider_error'>

/** What a new login begins with. */
export type LoginStart = Pick<
  PendingLogin,
  'role' | 'client' | 'redirect_uri' | 'bound_audiences' | 'max_age' | 'mode' | 'scope'
> & { readonly clientNonce: string; readonly usesCode: boolean }

/** A login that begins at `now`, before it is listed under a client. */
export function newPendingLogin(
  { clientNonce, usesCode, ...start }: LoginStart,
  random: Random,
  now: number,
): Omit<PendingLogin, 'listed' | 'address'> {
  return {
    ...start,
    // nothing takes a nonce to a provider that a device asks
    nonce: start.mode === 'device' ? '' : `n_${base62(random, 20)}`,
    code_verifier: usesCode ? base62(random, 43) : '',
    client_nonce: clientNonce === '' ? '' : digest(clientNonce),
    created: now,
    code: '',
    id_token: '',
    refused: false,
    issuer: '',
    confirmation: '',
    confirmed: false,
    confirmed_at: 0,
    device_code: '',
    interval: 0,
    polled: 0,
  }
}

/** Whether a browser may still come back for it; it never does for a device. */
export const isOpenForBrowser = ({ mode, ending }: PendingLogin): boolean =>
  mode !== 'device' && ending === undefined

/** Longest time to decide a login that the person has confirmed. */
const longestDecisionMs = 120_000

/** Whether the server that decided a confirmed login failed before it could keep the result: nobody will end it. */
export const isStranded = ({ mode, ending, confirmed_at }: PendingLogin, now: number): boolean =>
  mode === 'direct' && ending === undefined && confirmed_at > 0 && confirmed_at + longestDecisionMs <= now

/**
 * The login with a form's content. The same form again changes nothing; another one needs its own
 * confirmation.
 */
export function withPosted(login: PendingLogin, posted: PostedForm, random: Random): PendingLogin {
  const { code, id_token, refused, issuer } = posted
  const isKnown =
    login.code === code && login.id_token === id_token && login.refused === refused && login.issuer === issuer
  if (isKnown && (login.confirmed || login.confirmation !== '')) return login
  return {
    ...login,
    provider_error: undefined,
    ...posted,
    confirmed: false,
    confirmed_at: 0,
    confirmation: base62(random, 43),
  }
}

/** Whether this is the one-time value of the page; takes constant time. */
export const isConfirmation = (login: PendingLogin, sent: string): boolean =>
  login.confirmation !== '' && digest(login.confirmation) === digest(sent)

export const newState = (random: Random): string => `st_${base62(random, 20)}`

/** Only its digest is stored, so the comparison's timing reveals nothing. */
export const isClientNonce = (login: PendingLogin, clientNonce: string): boolean =>
  login.client_nonce === '' || login.client_nonce === digest(clientNonce)

/** The exchange reserves a second for its own work. docs/contract/oidc.md#between */
export const isTooOldForExchange = (login: PendingLogin, now: number): boolean =>
  login.created + lifetimeMs < now + 1000

export function readPendingLogin(stored: unknown): PendingLogin {
  const login = pendingLogin.parse(stored)
  if (login.scope === undefined) return login
  const { client, ...scope } = login.scope
  return { ...login, client, scope }
}

/**
 * The record of a login. One with a scope names no client that a server of an earlier version, which would ignore the
 * scope, could end it with. docs/contract/scopes.md#servers-of-earlier-versions
 */
export const storedPendingLogin = (login: PendingLogin): PendingLogin =>
  login.scope === undefined
    ? login
    : { ...login, client: { discovery_url: '', id: '' }, scope: { ...login.scope, client: login.client } }

export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')
