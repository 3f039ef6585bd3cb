import type { LoginAuth, LoginPlan } from '../../../core/tokens/acts/issue-login.ts'
import { ServiceError } from '../../../errors.ts'
import { parseStrictObject } from '../../../jwt/jws/strict-json.ts'
import { type JsonObject, stringifyJson } from '../../../lib/text/json.ts'
import type { Explanation } from '../../../logins/explain/explained.ts'
import { LoginChecks } from '../login/checks.ts'
import { type Admitted, examineGivenClaims, examineLogin, type LoginContext } from '../login/login.ts'

type Given = { readonly role: string; readonly jwt?: string; readonly claims?: JsonObject }

type Parts = {
  readonly context: LoginContext
  grant(admitted: Admitted): LoginAuth
  /** The rest of the login, without writing anything. Throws what the login would. */
  plan(auth: LoginAuth): Promise<LoginPlan>
}

/** Runs a login with the login's own checks. Writes nothing. docs/explain.md */
export async function explainLogin(
  { role, jwt, claims }: Given,
  { context, grant, plan }: Parts,
): Promise<Explanation> {
  const checks = new LoginChecks({ continues: true })
  const admitted =
    jwt === undefined
      ? await examineGivenClaims(
          { role, claims: parseStrictObject(stringifyJson(claims ?? {})) ?? {} },
          context,
          checks,
        )
      : await examineLogin({ role, jwt }, context, checks)
  const explained = { role, clock: undefined }
  if (checks.refused !== undefined || admitted === undefined)
    return { ...explained, refused: checks.refused, checks: checks.explained(), login: undefined }
  try {
    const auth = grant(admitted)
    const login = { auth, plan: await plan(auth) }
    return { ...explained, refused: undefined, checks: checks.explained(), login }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { ...explained, refused: error, checks: checks.explained(), login: undefined }
  }
}
