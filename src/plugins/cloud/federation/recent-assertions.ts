import type { MountToken } from '../../../core/identity-tokens/mount-tokens.ts'
import { RecordCache } from '../../../core/record-cache.ts'
import type { Clock } from '../../../lib/system/clock.ts'

type Recent = { readonly signing: Promise<MountToken>; readonly at: number }

const mostKept = 2_000
const keptMs = 1_000

/**
 * The last assertion of each role, in memory. Callers within one second share it: a signature takes as long as
 * twenty requests.
 */
export class RecentAssertions {
  readonly #clock: Clock
  readonly #recent = new RecordCache<Recent>(mostKept)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(role: string, sign: () => Promise<MountToken>): Promise<MountToken> {
    const now = this.#clock.now()
    const recent = this.#recent.get(role)
    if (recent !== undefined && Math.abs(now - recent.at) < keptMs) return recent.signing
    const signing = sign()
    this.#recent.set(role, { signing, at: now })
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
