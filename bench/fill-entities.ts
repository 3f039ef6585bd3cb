import { newEntity } from '../src/core/identity/entities/new-entity.ts'
import { entityKey } from '../src/core/identity/identity-keys.ts'
import { systemClock } from '../src/lib/system/clock.ts'
import { systemRandom } from '../src/lib/system/random.ts'
import { openStoppedStore } from './stopped-store.ts'

export type FillInput = {
  /** The folder of a stopped server. */
  folder: string
  /** Accessor of the mount of the aliases. */
  mountAccessor: string
  count: number
  onProgress: (done: number) => void
}

const entitiesPerWrite = 1000

/** The alias name of the entity with this index. */
const filledAlias = (index: number): string => `repo:acme/filled-${index}:ref:refs/heads/main`

/** Writes `count` entities into a store, each with one alias, as first logins would, but many per commit. */
export async function fillEntities({ folder, mountAccessor, count, onProgress }: FillInput): Promise<void> {
  await using core = await openStoppedStore(folder)
  const { view, identities } = core
  const { keys } = identities.records

  for (let done = 0; done < count; ) {
    const size = Math.min(entitiesPerWrite, count - done)
    const entries = Array.from({ length: size }, (_, index) => {
      const name = filledAlias(done + index)
      const alias = {
        mount_accessor: mountAccessor,
        name,
        metadata: { role: 'bench' },
        custom_metadata: null,
      }
      const entity = newEntity({ namespace: 'root', now: systemClock.now(), random: systemRandom }, alias)
      return [
        { key: entityKey(entity.id), value: entity },
        { key: keys.entityName('root', entity.name), value: entity.id },
        { key: keys.alias('root', mountAccessor, name), value: entity.id },
      ]
    }).flat()
    if (!(await view.write(entries))) throw new Error('a batch was refused')
    done += size
    onProgress(done)
  }
}
