import { checkAssignable, sanitize } from '../../core/tokens/store/policy-names.ts'
import { loginTerms, type TokenSettings } from '../../core/tokens/store/token-fields.ts'
import { checkLoginType, loginTokenType } from '../../core/tokens/store/token-type.ts'
import { ServiceError } from '../../errors.ts'
import { checkNamed } from '../../logins/refusals/refusal.ts'
import { type Verdict, verdict } from './judged.ts'

/** The core's refusal of every login with these settings; undefined if it would refuse none. */
export function coreRefusal(settings: TokenSettings, mountType: string | undefined): Verdict | undefined {
  const terms = loginTerms(settings)
  try {
    checkLoginType(loginTokenType(mountType, terms), terms)
    const policies = sanitize(terms.policies, false)
    if (policies.includes('root')) return refusedFor('policy_forbidden')
    checkAssignable(policies)
    return undefined
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return refusedFor(error.reason ?? 'policy_forbidden')
  }
}

const refusedFor = (reason: string): Verdict => verdict(checkNamed(reason), { reason, text: '' })
