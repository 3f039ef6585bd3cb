import type { Mount } from '../../../core/mounts/mount.ts'
import { PerMount } from '../../../core/mounts/per-mount.ts'
import type { Core } from '../../../core/open/core.ts'
import { refuse } from '../../../errors.ts'
import { Limiter } from '../../../lib/concurrency/limiter.ts'
import type { Keys } from './keys.ts'
import { KvMount } from './kv-mount.ts'
import { firstPlugin, secondPlugin } from './kv-versions.ts'
import { upgradeEntries } from './upgrade.ts'

export type KvMountsParts = Pick<Core, 'clock' | 'random' | 'mounts' | 'shared' | 'jobs' | 'log'>

/** Entries that are upgraded before the answer to the tune. */
const upgradedAtOnce = 1_000

const upgrading = () =>
  refuse(
    'invalid',
    'Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period and will resume service shortly.',
  )

/** The mounts of both versions. A mount is found by its uuid, so it survives a move. */
export class KvMounts implements AsyncDisposable {
  readonly #parts: KvMountsParts
  /** Called with the paths of version 2 that change; undefined: any may have. */
  readonly onChange: (mount: Mount, path: string | undefined) => void
  readonly #places: PerMount<KvMount>
  readonly #upgrading = new Set<string>()
  /** Admits one call at a time that reads much data. Each that waits holds some of it already. */
  readonly large = new Limiter(1, { most: 64, refusal: () => refuse('overloaded', 'server is overloaded') })
  #isStopping = false

  constructor(parts: KvMountsParts, onChange: KvMounts['onChange']) {
    this.#parts = parts
    this.onChange = onChange
    this.#places = new PerMount(parts.mounts, (mount) => this.#open(mount))
  }

  /** All of one version, without those that are being removed. */
  all(plugin: typeof firstPlugin | typeof secondPlugin): Mount[] {
    return this.#parts.mounts.table.all().filter((mount) => mount.plugin === plugin && !mount.tainted)
  }

  of(mount: Mount): KvMount {
    return this.#places.of(mount)
  }

  #open(mount: Mount): KvMount {
    const { mounts, clock, random } = this.#parts
    return new KvMount(mounts.viewOf(mount).view('', { numbers: 'plain' }), {
      clock,
      random,
      large: this.large,
      onFailure: (error) => this.#failed(mount, error),
      onChange: (path) => this.onChange(mount, path),
    })
  }

  /** The keys of a mount of version 2. Throws while its entries of version 1 are upgraded. */
  async keysOf(mount: Mount): Promise<Keys> {
    const found = this.of(mount)
    if (!found.isUpgraded) {
      if (!(await (await found.first.get()).isEmpty())) {
        this.#upgradeInBackground(mount)
        throw upgrading()
      }
      found.isUpgraded = true
    }
    return found.keys.get()
  }

  /**
   * Called once an entry of version 1 is written: the mount may have become one of version 2 since the request
   * came in, after its entries were looked for.
   */
  async wrote(mount: Mount): Promise<void> {
    if (!this.#isFirst(mount)) await this.#upgrade(mount, Number.POSITIVE_INFINITY)
  }

  /** Throws if the mount has become one of version 2. */
  checkIsFirst(mount: Mount): void {
    if (!this.#isFirst(mount)) throw upgrading()
  }

  /**
   * Upgrades a mount whose options were changed from version 1 to 2: the first entries at once, more of them in
   * the background. Returns the warning for the caller. docs/contract/kv.md#upgrade
   */
  async tuned(before: Mount, now: Mount): Promise<readonly string[]> {
    if (before.plugin !== firstPlugin || now.plugin !== secondPlugin) return []
    // other servers write no entry of version 1 any more that this one does not see
    await this.#parts.shared?.confirmedByAll()
    try {
      await this.#upgrade(now, upgradedAtOnce)
    } finally {
      if (!(await (await this.of(now).first.get()).isEmpty())) this.#upgradeInBackground(now)
    }
    return [
      'Upgrading mount from version 1 to version 2. This mount will be unavailable for a brief period and will resume service shortly.',
    ]
  }

  start(): void {
    for (const mount of this.all(secondPlugin))
      this.#resume(mount).catch((error) => this.#failed(mount, error))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    for (const { kept } of this.#places.all()) kept[Symbol.dispose]()
  }

  async #resume(mount: Mount): Promise<void> {
    const found = this.of(mount)
    if (!(await (await found.first.get()).isEmpty())) this.#upgradeInBackground(mount)
    await (await found.keys.get()).deleteRemains()
  }

  #isFirst({ uuid }: Mount): boolean {
    return this.#parts.mounts.table.byUuid(uuid)?.plugin === firstPlugin
  }

  async #upgrade(mount: Mount, most: number, isEnded = () => false): Promise<void> {
    const found = this.of(mount)
    const [first, keys] = [await found.first.get(), await found.keys.get()]
    await upgradeEntries({ ...this.#parts, first, keys, most, isEnded })
  }

  /** One server does it. */
  #upgradeInBackground(mount: Mount): void {
    if (this.#upgrading.has(mount.uuid) || this.#isStopping) return
    this.#upgrading.add(mount.uuid)
    this.#parts.jobs.job(`kv-upgrade/${mount.uuid}`).begin(async ({ ended }) => {
      const isGone = () => this.#parts.mounts.table.byUuid(mount.uuid)?.tainted !== false
      await this.#upgrade(mount, Number.POSITIVE_INFINITY, () => ended.aborted || isGone())
      // a job that was lost to another server begins again by itself
      if (!ended.aborted) this.#upgrading.delete(mount.uuid)
    })
  }

  #failed(mount: Mount, err: unknown): void {
    this.#parts.log.error(
      { event: 'work_failed', err, mount: mount.path },
      'background work on secrets has failed',
    )
  }
}
