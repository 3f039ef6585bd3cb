import { randomBytes } from 'node:crypto'
import type { CoreLog } from '../../src/core/core-log.ts'
import type { MountTypeRegistry } from '../../src/core/mounts/mount-type-registry.ts'
import { type Core, type CoreSettings, openCore } from '../../src/core/open/core.ts'
import { OutboundClient } from '../../src/core/outbound/outbound.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { openMemory } from '../../src/storage/sqlite/sqlite.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { FakeClock } from './fake-clock.ts'
import { someMountTypes } from './mount-types.ts'
import { quietLog } from './start-server.ts'

export type TestCoreOptions = Partial<CoreSettings> & {
  clock?: FakeClock
  mountTypes?: MountTypeRegistry
  /** The test disposes it. */
  storage?: Storage
  /** Collects what is logged. */
  log?: CoreLog
  jobTimes?: { keepMs: number; ttlMs: number }
}

/**
 * A new store in memory and the core over it, with root token `root` and a clock the test owns. Nothing runs
 * in the background.
 */
export async function openTestCore({
  clock = new FakeClock(),
  mountTypes = someMountTypes(),
  storage: given,
  log = quietLog,
  jobTimes,
  ...settings
}: TestCoreOptions = {}): Promise<Core & { readonly clock: FakeClock }> {
  await using opened = new AsyncDisposableStack()
  const storage = given ?? opened.use(await openMemory())
  await using staging = await openMemory()
  const core = opened.use(
    await openCore(
      {
        sealKey: randomBytes(32),
        systemTtl: { defaultTtl: 3600, maxTtl: 3600 },
        apiAddr: '',
        defaultMounts: [],
        devRootToken: 'root',
        background: false,
        ...settings,
      },
      {
        storage,
        staging,
        clock,
        mountTypes,
        random: systemRandom,
        log,
        rootToken: { keep: () => {}, tell: () => {} },
        outbound: new OutboundClient({ deny: [] }),
        ...(jobTimes && { jobTimes }),
      },
    ),
  )
  const held = opened.move()
  return { ...core, clock, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
