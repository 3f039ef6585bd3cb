import type { LoginAuth } from '../../../core/tokens/acts/issue-login.ts'
import { addressRefusal } from '../../../jwt/checks/claims.ts'
import { type JwsLimits, parseClaims, parseJws } from '../../../jwt/jws/jws.ts'
import { ownMember } from '../../../jwt/jws/strict-json.ts'
import type { Trace } from '../checks/trace.ts'
import { loginByClaims } from '../login/claims-login.ts'
import { type LoginContext, type LoginInput, roleOfLogin } from '../login/login.ts'
import { reachedProvider } from './authorize.ts'
import { verifyIdToken } from './id-token.ts'
import { checkSubject, withoutNonce } from './sign-in.ts'

/**
 * The checks of a browser login that an ID token alone decides. Nobody began a login here: its nonce counts as the right
 * one, and the person as just signed in. Userinfo needs an access token, and is not asked for.
 * docs/explain.md#trying-a-login
 */
export async function examineIdToken(
  input: LoginInput,
  context: LoginContext & JwsLimits,
  trace: Trace,
): Promise<LoginAuth | undefined> {
  const { state, roles = state.roles, remoteAddress } = context
  const begun = await roleOfLogin(input.role, state, roles, trace)
  if (begun === undefined) return undefined
  const { ready, role } = begun
  trace.check('address', addressRefusal(role.record, remoteAddress))
  const provider = trace.value('provider', await reachedProvider(ready))
  if (provider === undefined) return undefined
  const { config } = ready
  const nowMs = context.now()
  const login = {
    nonce: nonceOf(input.jwt, context),
    bound_audiences: role.record.bound_audiences ?? [],
    max_age: 0,
    created: nowMs,
  }
  const signer = { keys: provider.keys, client: remoteAddress }
  const token = await trace.claims(() =>
    verifyIdToken(input.jwt, signer, { config, login, nowMs }, context, (name) =>
      trace.check(name, undefined),
    ),
  )
  if (token === undefined) return undefined
  trace.check('subject', checkSubject(token.claims, role))
  return loginByClaims(withoutNonce(token.claims), role, {
    config,
    trace,
    outbound: context.outbound,
    accessToken: input.distributed_claim_access_token,
    signal: undefined,
    now: context.now,
  })
}

function nonceOf(jwt: string, limits: JwsLimits): string {
  const jws = parseJws(jwt, limits)
  const nonce = 'malformed' in jws ? undefined : ownMember(parseClaims(jws.payload) ?? {}, 'nonce')
  return typeof nonce === 'string' ? nonce : ''
}
