import { Limiter } from '../src/lib/concurrency/limiter.ts'
import { systemClock } from '../src/lib/system/clock.ts'
import { systemRandom } from '../src/lib/system/random.ts'
import { KeyDraft } from '../src/plugins/kv/store/key-draft.ts'
import { newKeyId } from '../src/plugins/kv/store/key-record.ts'
import { readKvConfig } from '../src/plugins/kv/store/kv-config.ts'
import { KvMount } from '../src/plugins/kv/store/kv-mount.ts'
import { firstPlugin } from '../src/plugins/kv/store/kv-versions.ts'
import { append } from '../src/plugins/kv/store/version-changes.ts'
import { openStoppedStore } from './stopped-store.ts'

export type FillSecretsInput = {
  /** The folder of a stopped server. */
  readonly folder: string
  /** The path of a mount, with a slash at its end. */
  readonly mount: string
  readonly count: number
  pathOf(index: number): string
}

const atOnce = 1_000
const reportedEvery = 100_000

/** A secret of three fields. */
export const secretOf = (index: number) => ({
  username: `service-account-${index}`.padEnd(24, '.'),
  password: `correct horse battery ${index}`.padEnd(36, '.'),
  endpoint: `db-${index}.example.internal`.padEnd(32, '.'),
})

/** Writes secrets into a mount of either version as requests would, but many per commit. */
export async function fillSecrets({ folder, mount, count, pathOf }: FillSecretsInput): Promise<void> {
  await using core = await openStoppedStore(folder)
  const found = core.mounts.table.all().find(({ path }) => path === mount)
  if (found === undefined) throw new Error(`there is no mount ${mount}`)
  const view = core.mounts.viewOf(found)
  using stored = new KvMount(view, {
    clock: systemClock,
    random: systemRandom,
    large: new Limiter(1),
    onChange: () => {},
    onFailure: (error) => {
      throw error
    },
  })
  const keys = await stored.keys.get()
  const by = { actor: 'root', entity_id: '', operation: 'create' }
  const config = readKvConfig(undefined)
  const head = (data: string) =>
    append(new KeyDraft(undefined, new Map(), systemClock.now()), {
      data,
      by,
      config,
      id: newKeyId(systemRandom),
    })
  for (let done = 0; done < count; done += atOnce) {
    const batch = Array.from({ length: Math.min(atOnce, count - done) }, (_, index) => ({
      path: pathOf(done + index),
      data: JSON.stringify(secretOf(done + index)),
    }))
    if (found.plugin === firstPlugin) {
      const first = await stored.first.get()
      await Promise.all(batch.map(({ path, data }) => first.put(path, { data }, () => {})))
    } else if (
      !(await keys.writeHeads(
        batch.map(({ path, data }) => ({ path, head: head(data), expect: 'absent' as const })),
        [],
      ))
    )
      throw new Error('a batch was refused')
    if ((done + atOnce) % reportedEvery === 0) process.stderr.write(`\r${done + atOnce} secrets`)
  }
  if (count >= reportedEvery) process.stderr.write('\n')
}
