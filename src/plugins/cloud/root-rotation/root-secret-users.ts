import { createHash } from 'node:crypto'
import type { Mount } from '../../../core/mounts/mount.ts'
import { effectiveClientSecret } from '../config/effective-settings.ts'
import type { EngineParts } from '../engine-parts.ts'
import type { Intent } from '../intents/intent.ts'

/** Identifies a root secret without storing it. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

type Mounts = Pick<EngineParts, 'everyMount' | 'stateOf'>

/**
 * The mounts that sign in with the secret of this digest, with those that are being removed: an operator may have
 * given several mounts the same one.
 */
export async function mountsWithSecret(digest: string, { everyMount, stateOf }: Mounts): Promise<Mount[]> {
  const uses = async (mount: Mount) => {
    const state = stateOf(mount)
    const secret = effectiveClientSecret(await state.findConfig(), state.operator)
    return secret !== '' && digestOf(secret) === digest ? [mount] : []
  }
  return (await Promise.all(everyMount().map(uses))).flat()
}

/** Whether a mount signs in with the secret that an intent would remove. */
export const isSecretInUse = async (intent: Intent, mounts: Mounts): Promise<boolean> =>
  intent.kind === 'rootPassword' &&
  intent.secret_digest !== undefined &&
  (await mountsWithSecret(intent.secret_digest, mounts)).length > 0

/** Moves the intents of a mount to be removed for secrets that other mounts use to one of those. */
export async function handOverSecrets(from: Mount, mounts: Mounts): Promise<void> {
  const { intents } = mounts.stateOf(from)
  await intents.adopt('undone')
  const handed: string[] = []
  for (const { id, intent, tenant_id: tenant } of await intents.all()) {
    if (intent.kind !== 'rootPassword' || intent.secret_digest === undefined) continue
    const users = await mountsWithSecret(intent.secret_digest, mounts)
    const user = users.find(({ uuid }) => uuid !== from.uuid)
    if (user === undefined) continue
    const { intents: theirs } = mounts.stateOf(user)
    await theirs.undo([await theirs.record(intent, tenant)])
    handed.push(id)
  }
  await intents.settle(handed)
}
