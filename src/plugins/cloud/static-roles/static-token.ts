import { refuse } from '../../../errors.ts'
import { accessTokenText, type TokenRequest, tokenRefusal } from '../federation/federated-credentials.ts'
import { requestedScope } from '../federation/requested-scope.ts'
import { UpstreamError } from '../upstream/index.ts'
import { callWithin } from '../upstream-work.ts'
import { type ReadWork, usablePassword } from './read-static-credential.ts'

/**
 * As JSON for a response. Kept for each password, so a rotation makes new ones.
 * docs/cloud-static-roles.md#access-tokens
 */
export async function staticToken(
  name: string,
  { scope: sent, fresh }: TokenRequest,
  { state, clock, correlationId }: ReadWork,
): Promise<string> {
  const role = await state.staticRoles.find(name)
  if (role === undefined) throw refuse('invalid', `role '${name}' does not exist`)
  const current = await usablePassword(name, role, { state, call: callWithin(clock, correlationId) })
  const scope = requestedScope(sent, role.allowed_scopes)
  const holder = `static/${name}/${current.key_id}`
  const client = { clientId: role.application_client_id, proof: { secret: current.client_secret } }
  const kept = await state.tokens.get({ holder, clientId: client.clientId, scope }, fresh, async () => {
    const login = await state.exchange()
    return login.exchange(client, scope, callWithin(clock, correlationId)).catch((error: unknown) => {
      throw error instanceof UpstreamError ? tokenRefusal(error) : error
    })
  })
  return accessTokenText(kept, clock.now())
}
