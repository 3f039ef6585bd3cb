import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { accessTokenText, type TokenRequest, tokenRefusal } from '../federation/federated-credentials.ts'
import { requestedScope } from '../federation/requested-scope.ts'
import { checkIsNotOwn } from '../sign-in/own-clients.ts'
import { UpstreamError } from '../upstream/index.ts'
import type { RoleWork } from '../upstream-work.ts'
import type { StaticPassword, StaticRole } from './static-role-record.ts'

/** The password of a role, if it may be used now. Throws a refusal otherwise. */
async function usablePassword(
  name: string,
  { is_gone, application_client_id, current }: StaticRole,
  { state, call }: ReadWork,
): Promise<StaticPassword & { readonly client_secret: string }> {
  if (is_gone) throw refuse('invalid', `the application of role '${name}' no longer exists`)
  await checkIsNotOwn(application_client_id, state, call)
  if (!hasText(current))
    throw refuse('invalid', `no client_secret is stored for role '${name}'; rotate the role first`)
  return current
}

const hasText = (
  password: StaticPassword | undefined,
): password is StaticPassword & { readonly client_secret: string } => password?.client_secret !== undefined

type ReadWork = Pick<RoleWork, 'state' | 'clock' | 'call'>

/**
 * With the former password in its grace period. Calls nothing upstream. Undefined if there is no role.
 * docs/cloud-static-roles.md#reading-a-password
 */
export async function readStaticCredential(
  name: string,
  metadata: Readonly<Record<string, string>>,
  work: ReadWork,
): Promise<{ data: object; warnings: string[] } | undefined> {
  const role = await work.state.staticRoles.find(name)
  if (role === undefined) return undefined
  const current = await usablePassword(name, role, work)
  const now = work.clock.now()
  const { former, due, last_rotation: last } = role
  const isEnded = current.expiration !== '' && Date.parse(current.expiration) <= now
  return {
    data: {
      client_id: role.application_client_id,
      client_secret: current.client_secret,
      secret_id: current.key_id,
      expiration: current.expiration,
      metadata: { ...metadata, ...role.metadata },
      ttl: due === null ? 0 : Math.max(0, Math.ceil((due - now) / 1000)),
      last_vault_rotation: last === undefined ? '' : formatTime(last),
      ...(former === undefined || former.until <= now
        ? {}
        : { previous_secret_id: former.key_id, previous_expiration: formatTime(former.until) }),
    },
    warnings: isEnded ? [`the password of this role has ended: ${role.last_error}`] : [],
  }
}

/**
 * An access token for the application, as JSON for a response. Kept for each password, so a rotation makes new ones.
 * docs/cloud-static-roles.md#access-tokens
 */
export async function staticToken(
  name: string,
  { scope: sent, fresh }: TokenRequest,
  work: ReadWork,
): Promise<string> {
  const { state, clock, call } = work
  const role = await state.staticRoles.find(name)
  if (role === undefined) throw refuse('invalid', `role '${name}' does not exist`)
  const current = await usablePassword(name, role, work)
  const scope = requestedScope(sent, role.allowed_scopes)
  const holder = `static/${name}/${current.key_id}`
  const client = { clientId: role.application_client_id, proof: { secret: current.client_secret } }
  const kept = await state.tokens.get({ holder, clientId: client.clientId, scope }, fresh, async () => {
    const login = await state.exchange()
    return login.exchange(client, scope, call).catch((error: unknown) => {
      throw error instanceof UpstreamError ? tokenRefusal(error) : error
    })
  })
  return accessTokenText(kept, clock.now())
}
