import type { LoginAuth, LoginPlan } from '../../../core/tokens/acts/issue-login.ts'
import { ServiceError } from '../../../errors.ts'
import { type Jws, parseClaims, parseJws } from '../../../jwt/jws/jws.ts'
import { parseStrictObject } from '../../../jwt/jws/strict-json.ts'
import { bestOffset } from '../../../jwt/keys/clock-offset.ts'
import type { KeysetSource } from '../../../jwt/keys/keyset.ts'
import { type JsonObject, stringifyJson } from '../../../lib/text/json.ts'
import type { ExplainedCheck, Explanation, MeasuredClock } from '../../../logins/explain/explained.ts'
import { type CheckName, checkNamed, type Refusal } from '../../../logins/refusals/refusal.ts'
import { askedOf, type CelLoginContext, examineCel } from '../cel/cel-login.ts'
import type { Evaluation } from '../cel/evaluator.ts'
import type { Evaluated } from '../cel/program.ts'
import { type ReadToken, thrown } from '../checks/trace.ts'
import type { MountState } from '../config/mount-state.ts'
import type { Role } from '../config/role.ts'
import type { BegunFlow, Facts } from '../login/facts.ts'
import { GatedClient } from '../login/gated-client.ts'
import { examineJwt, type LoginContext } from '../login/login.ts'
import {
  type KnownSignature,
  noChecks,
  type RecordedCheck,
  RecordingTrace,
  unaskedChecks,
} from '../login/recording-trace.ts'
import { examineIdToken } from '../oidc/examine-id-token.ts'
import { type Description, describe } from './describe.ts'

export type ExplainInput = {
  readonly role: string
  /** Whether it is the name of a CEL role. */
  readonly isCel: boolean
  /** Whether the JWT is the ID token of a browser login. */
  readonly isIdToken?: boolean
  /** Exactly one of this and `claims` is set. */
  readonly jwt: string | undefined
  readonly claims: JsonObject | undefined
  readonly distributed_claim_access_token: string
}

export type ExplainContext = LoginContext & {
  /** Instead of those that are stored. */
  readonly celRoles?: CelLoginContext['celRoles']
  evaluate(atTurn: () => Promise<Evaluation>): Promise<Evaluated>
  readonly maxTokenSize: number
  /**
   * The outcome of the signature check of a past login; with it, the signature is not checked again, and no
   * other server is asked.
   */
  readonly signature?: KnownSignature
  /** The rest of the login, without writing anything. Throws what the login would. */
  plan(auth: LoginAuth): Promise<LoginPlan>
}

/** Runs a login with the login's own checks. Writes nothing. docs/explain.md */
export async function explainLogin(input: ExplainInput, context: ExplainContext): Promise<Explanation> {
  const jws = input.jwt === undefined ? undefined : readJws(input.jwt, context.maxTokenSize)
  const trace = new RecordingTrace({
    verifies: input.jwt !== undefined,
    instead: () => unverified(input, jws),
    known: context.signature,
  })
  const outbound = new GatedClient(context.outbound, () => trace.isVerified)
  const sent = { ...input, jwt: input.jwt ?? '' }
  const gated = { ...context, outbound }
  const auth = input.isCel
    ? await examineCel({ ...sent, operation: 'update' }, context, trace)
    : await (input.isIdToken === true ? examineIdToken : examineJwt)(sent, gated, trace)
  const facts = await factsOf(input, context, { claims: trace.examined?.claims, jws })
  const unmade: readonly CheckName[] =
    input.jwt === undefined ? ['token', 'signature', 'algorithm', ...timesOf(input)] : []
  const unasked = outbound.wasRefused ? unaskedChecks(trace.recorded, facts.role) : noChecks
  const counted = trace.recorded.filter((one) => !unmade.includes(one.name))
  const first = counted.find((one) => one.refused !== undefined && !unasked.has(one))?.refused
  // after a refusal, a past login did not reach the core
  const isOver = context.signature !== undefined && first !== undefined
  const core = auth === undefined || isOver ? undefined : await planned(auth, context)
  const unfilled = counted.find(({ name }) => name === 'policies')?.refused
  const refused = first === undefined ? core?.refused : thrown(first)
  return {
    refused,
    role: facts.roleName,
    clock: clockOf(facts.ready?.keyset.sources() ?? []),
    checks: [
      ...slotsOf(facts, counted, context.asToken !== undefined).map((slot) =>
        explained(slot, { counted, unasked }, facts),
      ),
      ...coreChecks(core, facts, { hasProof: auth?.proof !== undefined, unfilled }),
    ],
    login:
      refused === undefined && auth !== undefined && core?.plan !== undefined
        ? { auth, plan: core.plan }
        : undefined,
  }
}

export function readJws(jwt: string, maxTokenSize: number): Jws | undefined {
  const jws = parseJws(jwt, { maxTokenSize })
  return 'malformed' in jws ? undefined : jws
}

/** Claims that are made up for a program need no times. */
const timesOf = ({ isCel, claims = {} }: ExplainInput): CheckName[] =>
  isCel && !['exp', 'nbf', 'iat'].some((name) => Object.hasOwn(claims, name)) ? ['times'] : []

/** Claims from a request, with numbers as in a token. */
function unverified({ claims }: ExplainInput, jws: Jws | undefined): ReadToken | undefined {
  const read =
    claims === undefined ? jws && parseClaims(jws.payload) : parseStrictObject(stringifyJson(claims))
  return read === undefined || read === null
    ? undefined
    : { claims: read, algorithm: jws?.algorithm ?? '', type: jws?.type }
}

async function factsOf(
  { role: named, isCel, isIdToken: isFlow = false }: ExplainInput,
  { state, roles = state.roles, celRoles = state.celRoles, remoteAddress, now }: ExplainContext,
  { claims, jws }: { claims: Facts['claims']; jws: Jws | undefined },
): Promise<Facts> {
  const ready = await state.findConfig()
  const roleName = named || (ready?.config.default_role ?? '')
  const role =
    roleName === '' ? undefined : await (isCel ? celRole(roleName, celRoles) : roles.find(roleName))
  const login = isFlow ? begunNow(role, now()) : undefined
  const known = { ready, role, roleName, remoteAddress, claims, nowMs: now(), isFlow, login }
  return completeFacts(known, jws, isCel ? state.celRoles : state.roles)
}

/** A browser login that begins with the role as it is. */
const begunNow = (role: Role | undefined, created: number): BegunFlow => ({
  address: '',
  redirect_uri: '',
  bound_audiences: role?.record.bound_audiences ?? [],
  max_age: 0,
  created,
  confirmed: true,
})

async function celRole(
  name: string,
  roles: NonNullable<ExplainContext['celRoles']>,
): Promise<Role | undefined> {
  const role = await roles.find(name)
  return role && askedOf(role)
}

/** Adds what follows from the known facts and the token; `roles` are those that the caller may have meant. */
export const completeFacts = async (
  known: Omit<Facts, 'roleNames' | 'keyId' | 'algorithm' | 'offset'>,
  jws: Jws | undefined,
  roles: Pick<MountState['roles'], 'names'>,
): Promise<Facts> => ({
  ...known,
  roleNames: known.role === undefined ? await roles.names() : [],
  keyId: jws?.keyId ?? '',
  algorithm: jws?.algorithm ?? '',
  offset: clockOf(known.ready?.keyset.sources() ?? []),
})

/** The clock that was read last. */
export function clockOf(sources: readonly KeysetSource[]): MeasuredClock | undefined {
  const measured = sources.flatMap(({ url, histories }) =>
    histories.flatMap(({ offset }) =>
      offset === undefined ? [] : [{ ...offset, source: URL.parse(url)?.origin ?? url }],
    ),
  )
  return bestOffset(measured)
}

/** A check as it is reported; `index` numbers the checks of one name. */
type Slot = { readonly name: CheckName; readonly index: number }

/**
 * All checks in the order of the login. An `aud` is checked if the role names audiences, or else after the
 * times. docs/contract/jwt.md#login-in-this-order
 */
function slotsOf({ role, isFlow = false }: Facts, made: readonly RecordedCheck[], isToken: boolean): Slot[] {
  const more = isToken ? checksOfTokens : []
  if (role?.isCel === true) return celSlots(role, made, more)
  const isAudienceFirst = (role?.record.bound_audiences ?? []).length > 0
  const ofJwt: CheckName[] = [
    'config',
    'role',
    'token',
    'address',
    'signature',
    'algorithm',
    'claims',
    'issuer',
    'subject',
    isAudienceFirst ? 'audience' : 'times',
    isAudienceFirst ? 'times' : 'audience',
    'user_claim',
    'provider',
    'metadata',
    'groups',
  ]
  const names = isFlow ? checksOfIdTokens : ofJwt
  const bound = (role?.boundClaims ?? []).map((_, index): Slot => ({ name: 'bound_claims', index }))
  return [...names.map((name) => ({ name, index: 0 })), ...bound, ...more.map((name) => ({ name, index: 0 }))]
}

const checksOfIdTokens: readonly CheckName[] = [
  'config',
  'role',
  'address',
  'provider',
  'claims',
  'issuer',
  'times',
  'algorithm',
  'signature',
  'audience',
  'subject',
  'user_claim',
  'metadata',
  'groups',
]

const checksOfTokens: readonly CheckName[] = ['lifetime', 'type', 'proof', 'authorization_details']

function celSlots({ record }: Role, made: readonly RecordedCheck[], more: readonly CheckName[]): Slot[] {
  const variables = made.map(({ name }) => name).filter((name) => name.startsWith('variable:'))
  const names: CheckName[] = [
    'config',
    'role',
    'token',
    'signature',
    'algorithm',
    'claims',
    'issuer',
    ...((record.bound_audiences ?? []).length > 0 || more.length > 0 ? (['audience'] as const) : []),
    'times',
    ...new Set(variables),
    'program',
    'auth',
    ...more,
  ]
  return names.map((name) => ({ name, index: 0 }))
}

type Made = { readonly counted: readonly RecordedCheck[]; readonly unasked: ReadonlySet<RecordedCheck> }

function explained({ name, index }: Slot, { counted, unasked }: Made, facts: Facts): ExplainedCheck {
  const ofName = counted.filter((one) => one.name === name)
  const made = (name === 'bound_claims' ? ofName.slice(index, index + 1) : ofName).filter(
    (one) => !unasked.has(one),
  )
  const refused = made.find((one) => one.refused !== undefined)?.refused
  return {
    ...outcome(name, made.length === 0 ? 'skipped' : undefined, refused?.reason),
    ...describe(name, facts, { refused, compared: made.at(-1)?.compared }, index),
  }
}

const outcome = (
  name: string,
  skipped: 'skipped' | undefined,
  reason = '',
): Pick<ExplainedCheck, 'name' | 'verdict' | 'reason'> => ({
  name,
  verdict: skipped ?? (reason === '' ? 'pass' : 'fail'),
  reason,
})

/** The core's verdict on an accepted token. */
type Planned = { readonly plan?: LoginPlan; readonly refused?: ServiceError }

async function planned(auth: LoginAuth, { plan }: ExplainContext): Promise<Planned> {
  try {
    return { plan: await plan(auth) }
  } catch (error) {
    if (error instanceof ServiceError && error.reason !== undefined) return { refused: error }
    throw error
  }
}

/**
 * The core checks the entity first, then the policies, and last whether the token was used. Its objections to
 * a name or metadata come before all of these. `unfilled`: claims do not name the policies, so the core was not asked.
 */
function coreChecks(
  core: Planned | undefined,
  facts: Facts,
  { hasProof, unfilled }: { hasProof: boolean; unfilled: Refusal | undefined },
): ExplainedCheck[] {
  const reason = core?.refused?.reason ?? unfilled?.reason ?? ''
  const refusing = checkNamed(reason)
  const order = [
    'entity',
    'policies',
    ...(reason === 'scope_refused' ? ['scope'] : []),
    ...(facts.role?.record.token_replay_protection === true ? ['replay'] : []),
  ]
  const refusedAt = reason === '' ? order.length : order.indexOf(refusing)
  const told = (name: string, at: number): ExplainedCheck => {
    // claims without an id and without a signed text belong to no particular token
    const isReached = core === undefined ? at === refusedAt : at <= refusedAt
    const isMade = isReached && (name !== 'replay' || hasProof)
    const described =
      name === 'policies' ? describe('policies', facts, { refused: unfilled }, 0) : nothingToShow
    return { ...outcome(name, isMade ? undefined : 'skipped', at === refusedAt ? reason : ''), ...described }
  }
  const early = refusedAt < 0 ? [{ ...outcome(refusing, undefined, reason), ...nothingToShow }] : []
  return [...early, ...order.map(told)]
}

const nothingToShow: Description = { expected: [], seen: null, hint: '', detail: '' }
