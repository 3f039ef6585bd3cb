import { join } from 'node:path'
import { readSealKeyFile } from '../src/core/barrier/seal.ts'
import { MountTypeRegistry } from '../src/core/mounts/mount-type-registry.ts'
import { type Core, openCore } from '../src/core/open/core.ts'
import { OutboundClient } from '../src/core/outbound/outbound.ts'
import { systemClock } from '../src/lib/system/clock.ts'
import { systemRandom } from '../src/lib/system/random.ts'
import { kvVersions } from '../src/plugins/kv/store/kv-versions.ts'
import { openSqlite } from '../src/storage/sqlite/sqlite.ts'

const monthSeconds = 30 * 24 * 3600
const toStandardError = (fields: object, text: string) =>
  process.stderr.write(`${text} ${JSON.stringify(fields)}\n`)

/** Opens the store in the folder of a stopped server, for writing many records at once; starts no jobs. */
export async function openStoppedStore(folder: string): Promise<Core> {
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(await openSqlite({ path: join(folder, 'gatehouse.db') }))
  const core = opened.use(
    await openCore(
      {
        sealKey: await readSealKeyFile(join(folder, 'seal.key')),
        systemTtl: { defaultTtl: monthSeconds, maxTtl: monthSeconds },
        defaultMounts: [],
        apiAddr: '',
        background: false,
      },
      {
        storage,
        clock: systemClock,
        random: systemRandom,
        outbound: new OutboundClient({ deny: [] }),
        log: { debug: () => {}, info: () => {}, warn: toStandardError, error: toStandardError },
        mountTypes: new MountTypeRegistry([
          { table: 'auth', names: ['jwt', 'oidc'] },
          { table: 'auth', names: ['approle'] },
          { table: 'auth', names: ['userpass'] },
          { table: 'secret', names: ['kv', 'generic'], versions: kvVersions },
          { table: 'secret', names: ['kv-v2'], versions: kvVersions },
          ...(['cloud', 'azure', 'practice'] as const).map((name) => ({
            table: 'secret' as const,
            names: [name] as const,
          })),
        ]),
        rootToken: { keep: () => {}, tell: () => {} },
      },
    ),
  )
  const held = opened.move()
  return { ...core, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
