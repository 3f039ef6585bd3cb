import type { Clock } from '../../../lib/system/clock.ts'

type Found = { readonly appId: string | undefined; readonly at: number }

const believedMs = 60_000
const usableMs = 600_000

/**
 * In memory. An identity that was seen counts while the metadata service is out of reach. That there is none counts
 * for a minute, and is then looked up again beside the requests.
 */
export class OwnIdentity {
  readonly #clock: Clock
  #found: Found | undefined
  #looking: Promise<string | undefined> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  drop(): void {
    this.#found = undefined
    this.#looking = undefined
  }

  async find(look: () => Promise<string | undefined>, isFresh: boolean): Promise<string | undefined> {
    const found = this.#found
    const age = found === undefined ? Number.POSITIVE_INFINITY : Math.abs(this.#clock.now() - found.at)
    if (found?.appId !== undefined || isFresh || age > usableMs) return this.#look(look)
    // its failure keeps what is known
    if (age > believedMs) this.#look(look).catch(() => undefined)
    return undefined
  }

  #look(look: () => Promise<string | undefined>): Promise<string | undefined> {
    if (this.#looking !== undefined) return this.#looking
    const before = this.#found?.appId
    const looking: Promise<string | undefined> = look()
      .then(
        (appId) => appId ?? before,
        (error: unknown) => {
          if (before === undefined) throw error
          return before
        },
      )
      .then((appId) => {
        if (this.#looking === looking) this.#found = { appId, at: this.#clock.now() }
        return appId
      })
      .finally(() => {
        if (this.#looking === looking) this.#looking = undefined
      })
    this.#looking = looking
    return looking
  }
}
