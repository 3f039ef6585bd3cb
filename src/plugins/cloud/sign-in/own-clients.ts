import { refuse, ServiceError } from '../../../errors.ts'
import { chooseType } from '../config/choose-credential.ts'
import { signInValues } from '../config/effective-settings.ts'
import type { MountState } from '../mount-state.ts'
import { callerError, type UpstreamCall, UpstreamError } from '../upstream/index.ts'
import { noMetadata, refusedIdentity } from '../upstream/upstream-error.ts'

/**
 * The identities that the engine itself uses, which no role may give out. A managed one is known only from its
 * token: throws if the engine may have one and cannot tell which. `fresh`: looks anew.
 * docs/contract/cloud.md#own-identity
 */
export async function ownClientIds(
  state: MountState,
  call: UpstreamCall,
  { fresh = false } = {},
): Promise<string[]> {
  const values = signInValues(await state.findConfig(), state.operator, state.isHostOffered)
  const ids = [values.clientId, values.managedIdentityClientId].filter((id) => id !== '')
  const type = chooseType(values)
  // a mount to which the machine's identity is not offered does not sign in as the machine
  if ((type !== 'msi' && type !== 'msi_wif') || !values.isHostOffered) return ids
  const isLastResort = values.authType === ''
  const own = await state.ownIdentity.find(() => appIdOf(state, call, isLastResort), fresh)
  return own === undefined ? ids : [...ids, own]
}

/** Keeps the root credential from callers who may write roles. Checked again whenever a stored role is used. */
export async function checkIsNotOwn(
  clientId: string,
  state: MountState,
  call: UpstreamCall,
  how?: { readonly fresh: boolean },
): Promise<void> {
  const own = await ownClientIds(state, call, how)
  if (own.some((id) => clientId.toLowerCase() === id.toLowerCase()))
    throw refuse('invalid', 'application_object_id must not refer to the application used by this engine')
}

/** The client id in the engine's own tokens. Undefined if the machine has no identity, and needs none. */
async function appIdOf(
  state: MountState,
  call: UpstreamCall,
  isLastResort: boolean,
): Promise<string | undefined> {
  try {
    const { appId } = await (await state.upstream()).tokens.claims('directory', call)
    if (appId === undefined) throw refuse('invalid', 'the token of the engine does not name its client')
    return appId
  } catch (error) {
    if (isLastResort && hasNoIdentity(error)) return undefined
    throw error instanceof UpstreamError ? callerError(error) : error
  }
}

/**
 * Without `auth_type`, roles that need no identity are not to wait for one. A metadata service of another cloud
 * answers 404.
 */
const hasNoIdentity = (error: unknown): boolean =>
  error instanceof UpstreamError
    ? error.service === 'metadata' &&
      (error.code === noMetadata || error.code === refusedIdentity || error.status === 404)
    : error instanceof ServiceError && settingIsMissing.test(error.message)

/** The engine cannot sign in at all. */
const settingIsMissing = /^(?:subscription_id|tenant_id) is required$/
