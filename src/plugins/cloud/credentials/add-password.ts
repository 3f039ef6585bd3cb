import { refuse } from '../../../errors.ts'
import type { Intent } from '../intents/intent.ts'
import { undoAfterFailure } from '../intents/undo-after-failure.ts'
import { displayNameOf, principalPasswordName } from '../upstream/directory/object-names.ts'
import {
  type AddedPassword,
  classify,
  type PasswordCredential,
  tooManyPasswords,
  UpstreamError,
} from '../upstream/index.ts'
import { wasRemoved } from '../upstream/removal.ts'
import { orRefuse, type UpstreamWork } from '../upstream-work.ts'

export type PasswordWish = {
  readonly application_object_id: string
  readonly role: string
  /** RFC 3339. Called for each attempt. */
  end(): string
  /** What undoes the password with this display name. */
  intent(displayName: string): Intent
}

/** `intent` is the id of the intent that undoes the password. */
export type MadePassword = {
  readonly password: AddedPassword
  readonly displayName: string
  readonly intent: string
}

const mostLost = 3

/**
 * Adds a password, under the application's lock. If the answer is lost, so is the secret: it is undone, and another one
 * is added under a new name. docs/contract/cloud.md#passwords-on-an-application
 */
export const addPassword = (wish: PasswordWish, work: UpstreamWork): Promise<MadePassword> =>
  work.state.withApplicationLock(wish.application_object_id, async () => {
    for (let lost = 1; ; lost++) {
      const added = await tryToAdd(wish, work)
      if (!('lost' in added)) return added
      if (lost > mostLost) return orRefuse('error updating credentials', Promise.reject(added.lost))
    }
  })

async function tryToAdd(
  wish: PasswordWish,
  work: UpstreamWork,
): Promise<MadePassword | { lost: UpstreamError }> {
  const { state, upstream, call, random } = work
  const { application_object_id: objectId, role } = wish
  const displayName = displayNameOf(role, random.uuid())
  const intent = await state.intents.record(wish.intent(displayName), upstream.settings.tenantId)
  const add = () =>
    upstream.untilReplicated('addApplicationPassword', call, (again) =>
      upstream.directory.addApplicationPassword(objectId, { displayName, endDateTime: wish.end() }, again),
    )
  let held = 0
  try {
    const password = await add().catch(async (error: unknown) => {
      if (!mayBeFull(error)) throw error
      const { passwordCredentials } = await upstream.directory.getApplication(objectId, call)
      held = passwordCredentials.length
      if ((await removeExpired(objectId, passwordCredentials, work)) === 0) throw error
      return add()
    })
    await state.intents.amend(intent, { key_id: password.keyId })
    return { password, displayName, intent }
  } catch (error) {
    await undoAfterFailure(state.intents, [intent], { error, made: false })
    if (error instanceof UpstreamError && error.lost) return { lost: error }
    const text = 'error updating credentials: maximum number of Application passwords reached'
    if (isFull(error)) throw refuse('invalid', text, { cause: error })
    if (mayBeFull(error) && held >= fewestPasswords)
      throw refuse('invalid', `${text}: ${error.message}`, { cause: error })
    return orRefuse('error updating credentials', Promise.reject(error))
  }
}

/** The fewest passwords that fill an application: two, if people with personal accounts may sign in to it. */
const fewestPasswords = 2

const isFull = (error: unknown): error is UpstreamError =>
  error instanceof UpstreamError && tooManyPasswords.some((code) => code === error.code)

/** Whether the application may have no room for another password: the directory has other codes for that, too. */
const mayBeFull = (error: unknown): error is UpstreamError =>
  isFull(error) || (error instanceof UpstreamError && classify(error).kind === 'refused')

/** The display names of all passwords that the engine adds begin with this. */
const ownPrefix = principalPasswordName('')

/**
 * Makes room: removes expired passwords that the engine added, and returns how many.
 * docs/contract/cloud.md#passwords-on-an-application
 */
async function removeExpired(
  objectId: string,
  passwordCredentials: readonly PasswordCredential[],
  { upstream, call, clock }: UpstreamWork,
): Promise<number> {
  let removed = 0
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
