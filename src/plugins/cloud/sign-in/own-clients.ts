import { signInValues } from '../config/effective-settings.ts'
import type { MountState } from '../mount-state.ts'
import { callerError, type UpstreamCall, UpstreamError } from '../upstream/index.ts'

/**
 * The client ids of the identities that the engine itself uses, which no role may give out. A managed identity is
 * known only from its token. Throws if an `auth_type` asks for one that cannot sign in.
 * docs/contract/cloud.md#sign-in
 */
export async function ownClientIds(state: MountState, call: UpstreamCall): Promise<string[]> {
  const values = signInValues(await state.findConfig(), state.operator, state.isHostOffered)
  const ids = [values.clientId, values.managedIdentityClientId].filter((id) => id !== '')
  // with no `auth_type`, the host may have no identity at all, and roles that need none are not to wait for it
  if (values.authType !== 'msi' && values.authType !== 'msi_wif') return ids
  try {
    const { appId } = await (await state.upstream()).tokens.claims('directory', call)
    return appId === undefined ? ids : [...ids, appId]
  } catch (error) {
    throw error instanceof UpstreamError ? callerError(error) : error
  }
}
