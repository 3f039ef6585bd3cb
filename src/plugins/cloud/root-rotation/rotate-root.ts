import { refuse } from '../../../errors.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { chooseType } from '../config/choose-credential.ts'
import {
  type ConfigRecord,
  configIsNil,
  defaultRootPasswordTtl,
  discardedRotation,
} from '../config/config-record.ts'
import { signInValues, suppliesCredential } from '../config/effective-settings.ts'
import { undoAfterFailure } from '../intents/undo-after-failure.ts'
import type { MountState } from '../mount-state.ts'
import { rootPasswordName } from '../upstream/directory/object-names.ts'
import { type AddedPassword, type Application, callerError, UpstreamError } from '../upstream/index.ts'
import { orRefuse, type RotationWork, type UpstreamWork } from '../upstream-work.ts'
import { storePending } from './pending-secret.ts'
import { rotateCertificate } from './rotate-certificate.ts'

/**
 * Adds the next secret or certificate as pending; the current one stays in use until it works. Warns if it replaces
 * a pending one. docs/contract/cloud.md#root-rotation
 */
export function rotateRoot(work: RotationWork): Promise<string[]> {
  const { state } = work
  return state.withRotationLock(async () => {
    const config = await state.findConfig()
    if (config === undefined) throw configIsNil()
    const type = rotatable(config, state)
    await (type === 'certificate' ? rotateCertificate(config, work) : rotateSecret(config, work))
    return discardedRotation(config)
  })
}

async function rotateSecret(
  config: ConfigRecord,
  { state, call, clock, random }: RotationWork,
): Promise<void> {
  const upstream = await state.upstream()
  const application = await rootApplication({ upstream, call })
  const display_name = rootPasswordName(state.accessor, random.uuid())
  const id = await state.intents.record(
    { kind: 'rootPassword', application_object_id: application.id, display_name },
    upstream.settings.tenantId,
  )
  let added: AddedPassword | undefined
  try {
    const lifetime = config.root_password_ttl || defaultRootPasswordTtl
    const endDateTime = formatTime(clock.now() + lifetime * 1000)
    added = await upstream.directory.addApplicationPassword(
      application.id,
      { displayName: display_name, endDateTime },
      call,
    )
    await state.intents.amend(id, { key_id: added.keyId })
    const pending = {
      client_secret: added.secretText,
      key_id: added.keyId,
      created: clock.now(),
      expiration_date: added.endDateTime,
      application_object_id: application.id,
    }
    await storePending(config, { pending }, await state.intents.settling([id]), state)
  } catch (error) {
    await undoAfterFailure(state.intents, [id], { error, made: added !== undefined })
    throw error instanceof UpstreamError ? callerError(error, 'failed to add new password') : error
  }
}

/** What the engine rotates. Refuses a configuration whose root credential the engine cannot replace. */
function rotatable(config: ConfigRecord, { operator }: MountState): 'root_creds' | 'certificate' {
  if (suppliesCredential(operator))
    throw refuse('invalid', 'cannot rotate root: client credentials are provided by the environment')
  const type = chooseType(signInValues(config, operator, false))
  if (type === 'certificate') return type
  if (type !== 'root_creds' || config.client_secret === '')
    throw refuse('invalid', 'cannot rotate root: no client secret is configured')
  return type
}

async function rootApplication({
  upstream,
  call,
}: Pick<UpstreamWork, 'upstream' | 'call'>): Promise<Application> {
  const [found, another] = await orRefuse(
    '',
    upstream.directory.findApplications({ appId: upstream.settings.clientId }, call),
  )
  if (found === undefined) throw refuse('invalid', 'no application found')
  if (another !== undefined)
    throw refuse('invalid', 'multiple applications found - double check your client_id')
  return found
}
