import { ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import type { CheckName, Compared, Refusal } from '../../../logins/refusals/refusal.ts'
import { flowAlgorithms } from '../config/jwt-config.ts'
import { claimNames, type Facts } from '../login/facts.ts'

/**
 * What a check of a browser login compares, if that differs from a login by JWT; undefined if it does not.
 */
export const describeFlow = (
  name: CheckName | 'policies',
  facts: Facts,
  refused: Refusal | undefined,
): Compared | undefined => compareFlow[name]?.(facts, refused)

type Compare = (facts: Facts, refused: Refusal | undefined) => Compared | undefined

const compareFlow: Readonly<Partial<Record<CheckName | 'policies', Compare>>> = {
  role: ({ roleName, role }, refused) =>
    refused === undefined ? { expected: [], seen: role?.name ?? roleName } : undefined,
  algorithm: ({ ready, algorithm }) => ({
    expected: ready === undefined ? [] : flowAlgorithms(ready.config),
    seen: algorithm,
    detail: 'alg',
  }),
  issuer: ({ ready, claims }) => ({
    expected: ready === undefined ? [] : [redactUrl(ready.config.oidc_discovery_url)],
    seen: ownMember(claims, 'iss'),
    detail: 'iss',
  }),
  claims: ({ claims }, refused) =>
    refused !== undefined && (ownMember(claims, 'sub') ?? '') === ''
      ? { expected: ['sub'], seen: claimNames(claims), detail: 'sub', hint: '' }
      : undefined,
  nonce: ({ claims }, refused) => ({
    expected: ['the nonce of this login'],
    seen:
      ownMember(claims, 'nonce') === undefined ? null : refused === undefined ? 'the same' : 'another one',
    detail: 'nonce',
    hint: '',
  }),
  audience: audienceOf,
  times: timesOf,
  state: (_facts, refused) => refused && { expected: [expectedState], seen: null, hint: '' },
  confirmation: ({ login }, refused) => ({
    expected: ['`Confirm` on the page that follows the sign-in'],
    seen: refused === undefined ? 'confirmed' : (answers.get(refused.reason) ?? 'no answer yet'),
    detail: login === undefined ? '' : `begun from ${login.address || 'unknown'} for ${login.redirect_uri}`,
    hint: '',
  }),
}

/** What a state must be. */
export const expectedState =
  'the state of a login that was begun at this mount within 10 minutes and has not come back yet'

const answers: ReadonlyMap<string, string> = new Map([
  ['confirmation_denied', 'refused'],
  ['confirmation_invalid', 'an old or wrong page'],
])

/** An audience of the role never replaces the client. docs/contract/oidc.md#the-callback-in-this-order */
function audienceOf({ ready, claims, login }: Facts, refused: Refusal | undefined): Compared {
  const clientId = ready?.config.oidc_client_id ?? ''
  const aud = ownMember(claims, 'aud') ?? []
  const seen: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const bound = login?.bound_audiences ?? []
  const isOfRole =
    bound.length > 0 && !seen.some((audience) => typeof audience === 'string' && bound.includes(audience))
  if (isOfRole) return { expected: bound, seen, detail: 'aud' }
  const party = ownMember(claims, 'azp')
  const isOfParty = refused?.reason === 'authorized_party_mismatch' && party !== undefined && party !== null
  return isOfParty
    ? { expected: [clientId], seen: party, detail: 'azp' }
    : { expected: [clientId], seen, detail: 'aud' }
}

/** The role's leeways do not apply here, so none applies to the other clock either. */
function timesOf(
  { claims, nowMs, offset, login }: Facts,
  refused: Refusal | undefined,
): Compared | undefined {
  if (refused?.reason === 'login_too_old') {
    const earliest = (login?.created ?? 0) / 1000 - (login?.max_age ?? 0)
    return {
      expected: [`signed in after ${new Date(earliest * 1000).toISOString()}`],
      seen: timeSeen('auth_time', ownMember(claims, 'auth_time')),
      detail: 'auth_time',
      hint: '',
    }
  }
  if (refused === undefined || offset?.isCertain !== true || offset.seconds === 0) return undefined
  const [exp, nbf, iat] = ['exp', 'nbf', 'iat'].map((name) => Number(ownMember(claims, name) ?? 0))
  const theirs = nowMs / 1000 + offset.seconds
  const isInTime = (exp ?? 0) >= theirs && (nbf ?? 0) <= theirs + 300 && (iat ?? 0) <= theirs + 60
  return isInTime ? { ...timesSeen(claims, nowMs), hint: 'clock_offset' } : undefined
}

const timesSeen = (claims: StrictObject | undefined, nowMs: number): Compared => ({
  expected: [`now ${new Date(nowMs).toISOString()}`],
  seen: ['iat', 'nbf', 'exp'].flatMap((name) => timeSeen(name, ownMember(claims, name)) ?? []),
  detail: 'exp',
})

const latestTime = 253_402_300_799

const timeSeen = (name: string, seconds: unknown): string | null =>
  typeof seconds === 'number' && Math.abs(seconds) < latestTime
    ? `${name} ${new Date(seconds * 1000).toISOString()}`
    : null
