import type { View } from '../../core/barrier/view.ts'
import { Periodic } from '../../core/jobs/background.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import { PerMount } from '../../core/mounts/per-mount.ts'
import type { LoginAuth } from '../../core/tokens/acts/issue-login.ts'
import type { Limiter } from '../../lib/concurrency/limiter.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import type { Random } from '../../lib/system/random.ts'
import { LoginFailures } from '../../logins/explain/login-failures.ts'
import type { KeysetSource } from '../keys/keyset.ts'
import { KeyWatch } from '../observatory/key-watch.ts'
import { keyTimeline, type ObservedKeys, watchKeys } from '../observatory/observed-keys.ts'
import type { KeyAlert } from '../observatory/timeline.ts'
import { historyDays } from './history-days.ts'
import { LoginHistory, type NotedLogin } from './login-history.ts'
import type { JwtFailures } from './sent-token.ts'
import { whatIfTurns } from './tried-change.ts'

/** What a mount remembers of its logins, and of the keys that sign them. */
export type MountMemory = {
  readonly failures: JwtFailures
  readonly history: LoginHistory
  readonly keyWatch: KeyWatch
  /** Of what-ifs. */
  readonly turns: Limiter
}

export type MemoryParts = {
  readonly mounts: Pick<MountStore, 'viewOf' | 'table'>
  readonly clock: Clock
  readonly random: Random
  /** Most refused logins remembered per mount. */
  readonly failuresKept: number
  /** Called for each fetch of keys or of a discovery document. */
  onFetch(mount: Mount, succeeded: boolean): void
  onKeyAlert(mount: Mount, alert: KeyAlert, url: string): void
}

/** Where the parts of a mount that a method opens come from. */
export type OpenedMount = {
  readonly mount: Mount
  /** The mount's own; numbers keep their text. */
  readonly view: View
  readonly memory: MountMemory
  readonly onFetch: (succeeded: boolean) => void
}

type Method<Place> = {
  /** The name of the mount type. */
  readonly plugin: string
  open(opened: OpenedMount): Place
  /** The keys of a mount; undefined without a configuration. */
  observe(place: Place): Promise<ObservedKeys | undefined>
}

const tidyIntervalMs = 60_000

/** The mounts of a login method with JWTs, and what each remembers. */
export class LoginMounts<Place extends MountMemory & Disposable> {
  readonly #parts: MemoryParts
  readonly #method: Method<Place>
  readonly #places: PerMount<Place>

  constructor(parts: MemoryParts, method: Method<Place>) {
    this.#parts = parts
    this.#method = method
    this.#places = new PerMount(parts.mounts, (mount) => method.open(this.#opened(mount)))
  }

  #opened(mount: Mount): OpenedMount {
    const { mounts, clock, random, failuresKept: kept, onFetch, onKeyAlert } = this.#parts
    const view = mounts.viewOf(mount)
    const plain = view.view('', { numbers: 'plain' })
    const current = () => mounts.table.byUuid(mount.uuid) ?? mount
    return {
      mount,
      view,
      memory: {
        failures: new LoginFailures({ view: plain, clock, random, kept }),
        history: new LoginHistory({ view: plain, clock, random }),
        keyWatch: new KeyWatch({
          view: view.view('', { numbers: 'plain', isUncopied: true }),
          clock,
          onAlert: (alert, url) => onKeyAlert(current(), alert, url),
        }),
        turns: whatIfTurns(),
      },
      onFetch: (succeeded) => onFetch(current(), succeeded),
    }
  }

  of(mount: Mount): Place {
    return this.#places.of(mount)
  }

  /** Those used since the start. */
  used(): readonly { readonly mount: Mount; readonly kept: Place }[] {
    return this.#places.all().filter(({ mount }) => !mount.tainted)
  }

  /** Those of the type, used or not. */
  *all(): Generator<{ readonly mount: Mount; readonly kept: Place }, void, undefined> {
    for (const mount of this.#parts.mounts.table.all())
      if (mount.plugin === this.#method.plugin && !mount.tainted) yield { mount, kept: this.of(mount) }
  }

  /** The login with what its mount remembers of it. */
  remembered(mount: Mount, auth: LoginAuth, noted: NotedLogin): LoginAuth {
    const memory = this.of(mount).history.note(noted, historyDays(mount))
    return memory === undefined ? auth : { ...auth, memory }
  }

  /** Removes remembered logins that are too old. */
  async tidyLogins(): Promise<void> {
    for (const { mount, kept } of this.all()) await kept.history.tidyDue(historyDays(mount))
  }

  /** The keys of the sources since they are known. docs/contract/key-sources.md */
  async keys(mount: Mount, refresh: boolean): Promise<object> {
    return keyTimeline(await this.#method.observe(this.of(mount)), refresh)
  }

  /** Of the mounts used since the start. */
  async keySources(): Promise<readonly { mount: Mount; sources: readonly KeysetSource[] }[]> {
    return Promise.all(
      this.used().map(async ({ mount, kept }) => ({
        mount,
        sources: (await this.#method.observe(kept))?.keyset.sources() ?? [],
      })),
    )
  }

  /** Looks at the keys of the mounts used since the start. */
  watchKeys(stopping: AbortSignal): Promise<void> {
    const finders = this.used().map(
      ({ kept }) =>
        () =>
          this.#method.observe(kept),
    )
    return watchKeys(finders, { now: () => this.#parts.clock.now(), stopping })
  }

  /** What runs about once a minute: it keeps the memory of logins within its bound, and looks at the keys. */
  background(log: { readonly error: LogLine }): readonly Periodic[] {
    const onError = (text: string) => (err: unknown) => log.error({ event: 'work_failed', err }, text)
    return [
      new Periodic({
        run: async () => {
          for (const { mount, kept } of this.used()) await kept.history.tidyAdded(historyDays(mount))
        },
        intervalMs: tidyIntervalMs,
        onError: onError('could not remove remembered logins'),
      }),
      new Periodic({
        run: (stopping) => this.watchKeys(stopping),
        intervalMs: tidyIntervalMs,
        onError: onError('could not record the keys of issuers'),
      }),
    ]
  }
}
