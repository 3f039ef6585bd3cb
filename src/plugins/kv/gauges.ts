import type { View } from '../../core/barrier/view.ts'
import type { Core } from '../../core/open/core.ts'
import { CachedCount } from '../../core/records/cached-count.ts'
import type { MountGauge } from '../../http/resource/plugin.ts'
import { readPages } from '../../lib/data/pages.ts'
import { firstPrefixes } from './store/first-entries.ts'
import { barePrefix, headPrefix, versionPrefix } from './store/key-draft.ts'
import type { KvMounts } from './store/kv-mounts.ts'
import { firstPlugin, secondPlugin } from './store/kv-versions.ts'

type GaugeParts = Pick<Core, 'mounts' | 'clock'> & { readonly kvMounts: KvMounts }

const pageSize = 2_000

/** Counted by keys: nothing is decrypted. docs/monitoring.md#metrics */
export function kvGauges({ kvMounts, mounts, clock }: GaugeParts): MountGauge[] {
  const all = () => [...kvMounts.all(firstPlugin), ...kvMounts.all(secondPlugin)]
  const counted = (count: (view: View) => Promise<number>) =>
    new CachedCount({
      clock,
      count: async () => {
        const byUuid = new Map<string, number>()
        for (const mount of all()) byUuid.set(mount.uuid, await count(mounts.viewOf(mount)))
        return byUuid
      },
    })
  const read = (count: CachedCount) => async () => {
    const byUuid = await count.byName()
    return all().map((mount) => ({ mount, value: byUuid.get(mount.uuid) }))
  }
  const combine = (one: number, other: number) => one + other
  const secrets = counted((view) => countKeys(view, [...firstPrefixes, headPrefix]))
  const versions = counted(async (view) => {
    // before the heads: a key that gets its first version meanwhile counts one too few, never one too many
    const bare = await countKeys(view, [barePrefix])
    return Math.max(0, (await countKeys(view, [...firstPrefixes, headPrefix, versionPrefix])) - bare)
  })
  return [
    { name: 'kv_secrets', help: 'Secrets, deleted ones included', combine, read: read(secrets) },
    {
      name: 'kv_versions',
      help: 'Stored versions of secrets, deleted and destroyed ones included',
      combine,
      read: read(versions),
    },
  ]
}

async function countKeys(view: View, prefixes: readonly string[]): Promise<number> {
  let count = 0
  for (const prefix of prefixes)
    for await (const keys of readPages(
      (range) => view.listKeys(prefix, range),
      (key) => key,
      { size: pageSize },
    ))
      count += keys.length
  return count
}
