import { refuse } from '../../../errors.ts'
import { undoAfterFailure } from '../intents/undo-after-failure.ts'
import { type NewCredential, secretEnd } from './new-credential.ts'
import { wasRemoved } from '../upstream/removal.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { checkIsNotOwn } from '../roles/write-role.ts'
import { type AddedPassword, classify, UpstreamError } from '../upstream/index.ts'
import { displayNameOf, principalPasswordName } from '../upstream/object-names.ts'
import { type IssueWork, orRefuse } from '../upstream-work.ts'

type Added = { readonly password: AddedPassword; readonly displayName: string; readonly intent: string }

const mostLost = 3

/**
 * Adds a password to the application of a role, be it an existing application or one that the role owns.
 * docs/contract/cloud.md#passwords-on-an-application
 */
export async function issuePassword(name: string, role: RoleRecord, work: IssueWork): Promise<NewCredential> {
  const { state, upstream, call } = work
  const { application_object_id: objectId, application_client_id: clientId } = role
  checkIsNotOwn(clientId, upstream.settings.clientId)
  const { password, displayName, intent } = await state.inApplicationTurn(objectId, () =>
    addPassword(name, role, work),
  )
  return {
    secret: password.secretText,
    intents: [intent],
    data: {
      secret_type: 'static_service_principal',
      tenant_id: upstream.settings.tenantId,
      app_object_id: objectId,
      client_id: clientId,
      display_name: displayName,
      key_id: password.keyId,
      role: name,
      key_end_date: password.endDateTime,
      correlation_id: call.correlationId,
    },
  }
}

/** If the answer is lost, so is the secret: it is undone, and another password is added under a new name. */
async function addPassword(name: string, role: RoleRecord, work: IssueWork): Promise<Added> {
  for (let lost = 1; ; lost++) {
    const added = await tryToAdd(name, role, work)
    if (!('lost' in added)) return added
    if (lost > mostLost) return orRefuse('error updating credentials', Promise.reject(added.lost))
  }
}

async function tryToAdd(
  name: string,
  role: RoleRecord,
  work: IssueWork,
): Promise<Added | { lost: UpstreamError }> {
  const { state, upstream, call, clock, random, secretSeconds } = work
  const { application_object_id: objectId, application_client_id } = role
  const displayName = displayNameOf(name, random.uuid())
  const intent = await state.intents.record(
    {
      kind: 'password',
      application_object_id: objectId,
      client_id: application_client_id,
      display_name: displayName,
    },
    upstream.settings.tenantId,
  )
  const add = () =>
    upstream.untilReplicated('addApplicationPassword', call, (again) =>
      upstream.directory.addApplicationPassword(
        objectId,
        { displayName, endDateTime: secretEnd(secretSeconds, clock.now()) },
        again,
      ),
    )
  try {
    const password = await add().catch(async (error: unknown) => {
      if (!isLimit(error) || (await removeExpired(objectId, work)) === 0) throw error
      return add()
    })
    await state.intents.amend(intent, { key_id: password.keyId })
    return { password, displayName, intent }
  } catch (error) {
    await undoAfterFailure(state.intents, [intent], { error, made: false })
    if (error instanceof UpstreamError && error.lost) return { lost: error }
    if (isLimit(error))
      throw refuse('invalid', 'error updating credentials: maximum number of Application passwords reached', {
        cause: error,
      })
    return orRefuse('error updating credentials', Promise.reject(error))
  }
}

const tooManyPasswords = [
  'size of the object has exceeded its limit',
  'you can only add a maximum of',
  'credential limit has been reached',
]

/**
 * Whether the application has no room for another password. Other limits of the tenant, on lifetimes and
 * objects, have texts of their own.
 */
const isLimit = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  classify(error).kind === 'limit' &&
  tooManyPasswords.some((text) => error.text.toLowerCase().includes(text))

/** The display names of all passwords that the engine adds begin with this. */
const ownPrefix = principalPasswordName('')

/**
 * Makes room by removing expired passwords that the engine added. Returns how many were removed.
 * docs/contract/cloud.md#passwords-on-an-application
 */
async function removeExpired(objectId: string, { upstream, call, clock }: IssueWork): Promise<number> {
  let removed = 0
  const { passwordCredentials } = await upstream.directory.getApplication(objectId, call)
  for (const { keyId, displayName = '', endDateTime } of passwordCredentials) {
    if (
      !displayName.startsWith(ownPrefix) ||
      endDateTime === undefined ||
      Date.parse(endDateTime) > clock.now()
    )
      continue
    if (await wasRemoved(upstream.directory.removeApplicationPassword(objectId, keyId, call))) removed += 1
  }
  return removed
}
