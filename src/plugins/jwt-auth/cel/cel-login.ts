import type { StoredRoles } from '../../../core/records/stored-roles.ts'
import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { pinRefusal } from '../../../jwt/keys/keyset.ts'
import { allowedKeys } from '../../../jwt/keys/pins.ts'
import { thumbprintOf } from '../../../jwt/keys/thumbprint.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'
import { strictTrace, type Trace } from '../checks/trace.ts'
import type { Role } from '../config/role.ts'
import {
  checkVerified,
  type LoginContext,
  roleOfLogin,
  strictly,
  usedAsToken,
  verifiedToken,
} from '../login/login.ts'
import { authOf } from './cel-auth.ts'
import type { CelRole } from './cel-role.ts'
import type { Evaluation } from './evaluator.ts'
import type { Outcome } from './outcome.ts'
import type { Evaluated, ShownVariable } from './program.ts'

export type CelLoginInput = {
  /** Lower-case; the configured default if empty. */
  readonly role: string
  readonly jwt: string
  readonly operation: 'create' | 'update'
}

export type CelLoginContext = Omit<LoginContext, 'roles' | 'outbound'> & {
  /** Instead of those that are stored. */
  readonly celRoles?: Pick<StoredRoles<CelRole>, 'find'> | undefined
  /** `atTurn` is called when it is this login's turn. */
  evaluate(atTurn: () => Promise<Evaluation>): Promise<Evaluated>
  /** Called with how the program ended. */
  onOutcome?(outcome: Outcome): void
}

/** Determines who logs in with this token, by the program of a CEL role. Throws the first refusal. */
export const celLogin = (input: CelLoginInput, context: CelLoginContext): Promise<LoginAuth> =>
  strictly((trace) => examineCel(input, context, trace))

/**
 * Runs the checks of docs/contract/cel.md#login in that order. Returns undefined if a check refused and the trace
 * continues.
 */
export async function examineCel(
  input: CelLoginInput,
  context: CelLoginContext,
  trace: Trace,
): Promise<LoginAuth | undefined> {
  const roleOf = (by: Trace) =>
    roleOfLogin(input.role, context.state, context.celRoles ?? context.state.celRoles, by)
  const first = await roleOf(trace)
  if (first === undefined) return undefined
  trace.check('token', input.jwt === '' ? refusal('token_missing', 'missing token') : undefined)
  const token = await verifiedToken(input.jwt, { ...first, role: askedOf(first.role), context, trace })
  if (token === undefined) return undefined
  let begun = first
  const { outcome, variables } = await context.evaluate(async () => {
    const nowMs = context.now()
    // a login may have waited for long; a trace that goes on gives no token, and has noted these checks
    if (trace === strictTrace) {
      begun = await strictly(roleOf)
      trace.check(
        'signature',
        pinRefusal(
          token.signer && thumbprintOf(token.signer),
          allowedKeys(begun.ready.config.allowed_key_thumbprints),
        ),
      )
      checkVerified(token, { role: askedOf(begun.role), config: begun.ready.config, nowMs }, trace)
    }
    const given = { claims: token.claims, now: Math.floor(nowMs), operation: input.operation }
    return { program: begun.role.program, input: given }
  })
  context.onOutcome?.(outcome)
  const { ready, role } = begun
  noteVariables(variables, outcome, { role, trace })
  if (isOfVariable(outcome)) return undefined
  trace.check('program', refusedBy(outcome, role), { expected: ['pb.Auth'], seen: shownOutcome(outcome) })
  if (outcome.kind !== 'auth') return undefined
  const auth = trace.value('auth', authOf(outcome.auth, role.name))
  const asked = askedOf(role)
  context.onAccepted?.({ role: asked, token, keyset: ready.keyset })
  return usedAsToken(auth, token, { ready, role: asked, context, trace })
}

/** What a role asks of the token itself, as an ordinary role says it. */
export const askedOf = ({ name, record, program }: CelRole): Role => ({
  name,
  record: {
    bound_audiences: record.bound_audiences,
    clock_skew_leeway: record.clock_skew_leeway,
    expiration_leeway: record.expiration_leeway,
    not_before_leeway: record.not_before_leeway,
  },
  boundClaims: [],
  isCel: true,
  program,
})

const isOfVariable = (outcome: Outcome): boolean => outcome.kind === 'error' && outcome.variable !== ''

/** A login ends with its first variable that fails; only a traced evaluation has the values of them. */
function noteVariables(
  variables: readonly ShownVariable[],
  outcome: Outcome,
  { role, trace }: { role: CelRole; trace: Trace },
): void {
  const failed = outcome.kind === 'error' && outcome.variable !== '' ? outcome.variable : undefined
  let isRefused = failed === undefined
  for (const { name, value, error } of variables) {
    const refused =
      error === '' ? undefined : isRefused ? refusal('cel_error', error) : refusedBy(outcome, role)
    isRefused ||= error !== ''
    trace.check(`variable:${name}`, refused, { expected: [], seen: error === '' ? value : error })
  }
  if (!isRefused && failed !== undefined)
    trace.check(`variable:${failed}`, refusedBy(outcome, role), { expected: [], seen: null })
}

const longestMessage = 4_096
const prefix = 'error executing cel program: '

/** What a result says to the caller, if it is no login. docs/contract/cel.md#what-the-result-means */
function refusedBy(outcome: Outcome, { name, record: { message } }: CelRole): Refusal | undefined {
  switch (outcome.kind) {
    case 'auth':
      return undefined
    case 'denied': {
      const text = `${prefix}CEL role '${name}' blocked authorization with boolean false return`
      return replaced(refusal('cel_denied', text), message)
    }
    case 'message': {
      const text = excerpt(outcome.text, longestMessage)
      return refusal('cel_message', `${prefix}CEL role '${name}' blocked authorization with message: ${text}`)
    }
    case 'type':
      return refusal('cel_type', `${prefix}CEL program '${name}' returned unexpected type: ${outcome.type}`)
    case 'error':
      return replaced(refusal('cel_error', `${prefix}CEL auth program failed: ${outcome.text}`), message)
    case 'limit':
      return refusal('cel_limit', `${prefix}CEL auth program failed: ${outcome.text}`)
  }
}

/** The caller sees the role's own message, the operator the cause. */
const replaced = (refused: Refusal, message: string): Refusal =>
  message === '' ? refused : { ...refused, text: message, cause: refused.text }

/** The kind of a result, with its text. */
function shownOutcome(outcome: Outcome): string {
  if (outcome.kind === 'type') return outcome.type
  return 'text' in outcome ? `${outcome.kind}: ${outcome.text}` : outcome.kind
}
