import { createHash } from 'node:crypto'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { Intent } from '../intents/intent.ts'
import type { MountState } from '../mount-state.ts'
import { effectiveClientSecret } from '../config/effective-settings.ts'

/** How a root secret is told from another without being kept. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export type RootSecretUsersParts = {
  /** All mounts of the engine, also those that are being removed: these sign in until they are gone. */
  everyMount(): readonly Mount[]
  stateOf(mount: Mount): MountState
}

/** Which mounts sign in with a secret: one that an operator typed in may have been typed in twice. */
export class RootSecretUsers {
  readonly #parts: RootSecretUsersParts

  constructor(parts: RootSecretUsersParts) {
    this.#parts = parts
  }

  /** Mounts that sign in with the secret of this digest. */
  async of(digest: string): Promise<Mount[]> {
    const { everyMount, stateOf } = this.#parts
    const uses = async (mount: Mount) => {
      const state = stateOf(mount)
      const secret = effectiveClientSecret(await state.findConfig(), state.operator)
      return secret !== '' && digestOf(secret) === digest ? [mount] : []
    }
    return (await Promise.all(everyMount().map(uses))).flat()
  }

  /** Whether what an intent would remove is in use. */
  async keep(intent: Intent): Promise<boolean> {
    return (
      intent.kind === 'rootPassword' &&
      intent.secret_digest !== undefined &&
      (await this.of(intent.secret_digest)).length > 0
    )
  }

  /**
   * Of a mount that is being removed: leaves the removal of secrets that other mounts sign in with to one of
   * those, and gives back the ids of the intents that are theirs now.
   */
  async handOver(from: Mount): Promise<string[]> {
    const { intents } = this.#parts.stateOf(from)
    const handed: string[] = []
    for (const { id, intent, tenant_id: tenant } of await intents.all()) {
      if (intent.kind !== 'rootPassword' || intent.secret_digest === undefined) continue
      const [user] = (await this.of(intent.secret_digest)).filter(({ uuid }) => uuid !== from.uuid)
      if (user === undefined) continue
      const { intents: theirs } = this.#parts.stateOf(user)
      theirs.undo([await theirs.record(intent, tenant)])
      handed.push(id)
    }
    await intents.settle(handed)
    return handed
  }
}
