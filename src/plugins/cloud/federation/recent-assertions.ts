import type { MountToken } from '../../../core/identity-tokens/mount-tokens.ts'
import { Cache } from '../../../lib/data/cache.ts'
import type { Clock } from '../../../lib/system/clock.ts'

/**
 * The last assertion of each role, in memory. Callers within one second share it: a signature takes as long as
 * twenty requests.
 */
export class RecentAssertions {
  readonly #recent: Cache<Promise<MountToken>>

  constructor(clock: Clock) {
    this.#recent = new Cache({ name: 'recent assertions', most: 2_000, ttl: { ms: 1_000, clock } })
  }

  get(role: string, sign: () => Promise<MountToken>): Promise<MountToken> {
    const recent = this.#recent.get(role)
    if (recent !== undefined) return recent
    const signing = sign()
    this.#recent.set(role, signing)
    signing.catch(() => this.#recent.drop(role))
    return signing
  }

  drop(role: string): void {
    this.#recent.drop(role)
  }

  dropAll(): void {
    this.#recent.dropAll()
  }
}
