import { createHash } from 'node:crypto'
import { z } from 'zod'
import { base62, type Random } from '../../../lib/random.ts'

/** After this a login begun has to be begun anew. docs/contract/oidc.md#between */
export const lifetimeMs = 600_000

/**
 * What is remembered between the authorization URL and the callback. Times are milliseconds since the epoch.
 * docs/contract/oidc.md#between
 */
const pendingLogin = z.object({
  role: z.string(),
  redirect_uri: z.string(),
  nonce: z.string(),
  /** PKCE; empty where the provider sends an ID token instead of a code. */
  code_verifier: z.string(),
  /** SHA-256 of the client's nonce; empty when it sent none. */
  client_nonce: z.string(),
  bound_audiences: z.array(z.string()),
  /** Seconds; 0 is none. */
  max_age: z.number(),
  created: z.number(),
  /** The key of its second record. */
  listed: z.string(),
  /** What a form brought; empty until then. */
  code: z.string(),
  id_token: z.string(),
  /** The form said that the provider refused. */
  refused: z.boolean(),
  /** What it said then. */
  provider_error: z.object({ error: z.string(), error_description: z.string() }).optional(),
  /** Which provider the form said it is of; empty when it did not. */
  issuer: z.string().default(''),
  /** Address of the client that began it, for the page that asks for a confirmation. */
  address: z.string().default(''),
  /** One-time value of that page; empty while there is none, and once it was used. */
  confirmation: z.string().default(''),
  /** The person has confirmed what the form brought. */
  confirmed: z.boolean().default(false),
})
export type PendingLogin = z.output<typeof pendingLogin>

/** Why a provider refused, in its words: RFC 6749 §4.1.2.1. */
export type ProviderError = NonNullable<PendingLogin['provider_error']>

/** What a form of the provider brings. */
export type PostedForm = Pick<PendingLogin, 'code' | 'id_token' | 'refused' | 'issuer' | 'provider_error'>

/** What a new login is begun with. */
export type LoginStart = Pick<PendingLogin, 'role' | 'redirect_uri' | 'bound_audiences' | 'max_age'> & {
  readonly clientNonce: string
  readonly usesCode: boolean
}

/** A login that begins at `now`; where it is listed, and for whom, is not known yet. */
export function newPendingLogin(
  { clientNonce, usesCode, ...start }: LoginStart,
  random: Random,
  now: number,
): Omit<PendingLogin, 'listed' | 'address'> {
  return {
    ...start,
    nonce: `n_${base62(random, 20)}`,
    code_verifier: usesCode ? base62(random, 43) : '',
    client_nonce: clientNonce === '' ? '' : digest(clientNonce),
    created: now,
    code: '',
    id_token: '',
    refused: false,
    issuer: '',
    confirmation: '',
    confirmed: false,
  }
}

/**
 * The login with what a form brought. The same form again changes nothing; another one has to be confirmed of
 * its own.
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
    confirmation: base62(random, 43),
  }
}

/** Whether this is the one-time value of the page that asks; the comparison tells nothing by its time. */
export const isConfirmation = (login: PendingLogin, sent: string): boolean =>
  login.confirmation !== '' && digest(login.confirmation) === digest(sent)

export const newState = (random: Random): string => `st_${base62(random, 20)}`

/** Only its digest is stored, so the comparison tells nothing by its time. */
export const isClientNonce = (login: PendingLogin, clientNonce: string): boolean =>
  login.client_nonce === '' || login.client_nonce === digest(clientNonce)

/** The exchange leaves a second for its own time. docs/contract/oidc.md#between */
export const isTooOldForExchange = (login: PendingLogin, now: number): boolean =>
  login.created + lifetimeMs < now + 1000

export const readPendingLogin = (stored: unknown): PendingLogin => pendingLogin.parse(stored)

export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')
