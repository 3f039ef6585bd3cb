import { createHash } from 'node:crypto'
import type { Mount } from '../../../core/mounts/mount.ts'
import { effectiveClientSecret } from '../config/effective-settings.ts'
import type { EngineParts } from '../engine-parts.ts'
import type { Intent } from '../intents/intent.ts'

/** Identifies a root secret without storing it. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

type RootSecretUsersParts = Pick<EngineParts, 'everyMount' | 'stateOf'>

/** Finds the mounts that sign in with a secret: an operator may have given several mounts the same one. */
export class RootSecretUsers {
  readonly #parts: RootSecretUsersParts

  constructor(parts: RootSecretUsersParts) {
    this.#parts = parts
  }

  /** The mounts that sign in with the secret of this digest, with those that are being removed. */
  async of(digest: string): Promise<Mount[]> {
    const { everyMount, stateOf } = this.#parts
    const uses = async (mount: Mount) => {
      const state = stateOf(mount)
      const secret = effectiveClientSecret(await state.findConfig(), state.operator)
      return secret !== '' && digestOf(secret) === digest ? [mount] : []
    }
    return (await Promise.all(everyMount().map(uses))).flat()
  }

  /** Whether a mount signs in with the secret that an intent would remove. */
  async isInUse(intent: Intent): Promise<boolean> {
    return (
      intent.kind === 'rootPassword' &&
      intent.secret_digest !== undefined &&
      (await this.of(intent.secret_digest)).length > 0
    )
  }

  /**
   * Moves the intents of a mount to be removed for secrets that other mounts use to one of those. Returns the ids of
   * the moved.
   */
  async handOver(from: Mount): Promise<string[]> {
    const { intents } = this.#parts.stateOf(from)
    await intents.adopt('undone')
    const handed: string[] = []
    for (const { id, intent, tenant_id: tenant } of await intents.all()) {
      if (intent.kind !== 'rootPassword' || intent.secret_digest === undefined) continue
      const [user] = (await this.of(intent.secret_digest)).filter(({ uuid }) => uuid !== from.uuid)
      if (user === undefined) continue
      const { intents: theirs } = this.#parts.stateOf(user)
      await theirs.undo([await theirs.record(intent, tenant)])
      handed.push(id)
    }
    await intents.settle(handed)
    return handed
  }
}
