import { letOthersRun } from '../../../lib/data/pages.ts'
import type { Random } from '../../../lib/system/random.ts'
import { FirstEntries } from './first-entries.ts'
import { newKeyId } from './key-record.ts'
import type { Keys } from './keys.ts'
import { readKvConfig } from './kv-config.ts'
import { append } from './version-changes.ts'

type UpgradeParts = {
  readonly first: FirstEntries
  readonly keys: Keys
  readonly random: Random
  readonly most: number
  isEnded(): boolean
}

/** So few that other requests hardly wait for them. */
const atOnce = 8

/**
 * Turns entries of version 1 into keys of version 2, each in one step, so that an entry is always in exactly
 * one of them. An entry that was written late becomes the next version of its key.
 */
export async function upgradeEntries({ most, isEnded, ...parts }: UpgradeParts): Promise<void> {
  for (let left = most; left > 0 && !isEnded(); await letOthersRun()) {
    const entries = await parts.first.first(Math.min(left, atOnce))
    if (entries.length === 0) return
    await Promise.all(entries.map(({ path }) => upgraded(path, parts)))
    left -= entries.length
  }
}

/** Leaves what another request or server has upgraded meanwhile, and takes what was written later. */
function upgraded(
  path: string,
  { first, keys, random }: Pick<UpgradeParts, 'first' | 'keys' | 'random'>,
): Promise<void> {
  return keys.change(path, {
    apply: async (draft) => {
      const now = await first.stored(path)
      if (now === undefined) return
      const isNew = draft.head === undefined
      const by = { actor: '', entity_id: '', operation: 'upgrade' }
      const config = readKvConfig(undefined)
      const head = append(draft, { data: now.entry.data, by, config, id: newKeyId(random) })
      if (isNew) draft.head = { ...head, oldest: 1 }
      draft.also.push(FirstEntries.removal(now))
    },
  })
}
