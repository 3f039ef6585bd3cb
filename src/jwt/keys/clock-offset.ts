/** How far another clock is ahead of ours, in whole seconds (negative: behind), and when it was measured. */
export type ClockOffset = {
  readonly seconds: number
  readonly measuredAt: number
  /** Estimated from `iat` of tokens, not from a `Date`: the clock may be further ahead. */
  readonly isEstimate: boolean
  /** Whether it can explain a refusal. */
  readonly isCertain: boolean
}

/** The most recent measurement; an estimate only if there is none. */
export function bestOffset<T extends ClockOffset>(offsets: readonly T[]): T | undefined {
  const measured = offsets.filter(({ isEstimate }) => !isEstimate)
  return (measured.length > 0 ? measured : offsets).reduce<T | undefined>(
    (last, one) => (last === undefined || one.measuredAt >= last.measuredAt ? one : last),
    undefined,
  )
}

const keptMs = 600_000
const maxKept = 16
/** Tokens whose freshness differs by at most this many seconds count as equally fresh. */
const agreementSeconds = 5
const leastAgreeing = 3
/** A token from further in the future has a wrong `iat`, which says nothing about a clock. */
const farthestAheadSeconds = 86_400
/** Nor does an older token: it has been used for a while, however slow a clock may be. */
const oldestSeconds = 3_600

type Issued = { readonly iat: number; readonly aheadSeconds: number; readonly at: number }

/**
 * Estimates how far an issuer's clock is ahead, from `iat` of its tokens, if it sends no `Date`. A token
 * cannot be used before it is issued, so the clock is at least as far ahead as the freshest token suggests;
 * how old that token was is unknown.
 */
export class IssuedTimes {
  /** One entry for each `iat`, oldest first. */
  #recent: Issued[] = []

  /** Records a token with a valid signature; `now` is milliseconds since the epoch. */
  note(iat: unknown, now: number): void {
    if (typeof iat !== 'number' || this.#recent.at(-1)?.iat === iat) return
    const aheadSeconds = Math.ceil(iat - now / 1000) + 0
    if (!(aheadSeconds >= -oldestSeconds && aheadSeconds <= farthestAheadSeconds)) return
    this.#recent = [
      ...this.#recent.filter((one) => one.iat !== iat && now - one.at < keptMs).slice(1 - maxKept),
      { iat, aheadSeconds, at: now },
    ]
  }

  /**
   * Undefined until a token was seen. The estimate is certain if the clock must be ahead, or if several
   * tokens were equally fresh.
   */
  get estimate(): ClockOffset | undefined {
    const freshest = this.#recent.reduce<Issued | undefined>(
      (best, one) => (best === undefined || one.aheadSeconds >= best.aheadSeconds ? one : best),
      undefined,
    )
    if (freshest === undefined) return undefined
    const { aheadSeconds, at } = freshest
    const agreeing = this.#recent.filter((one) => one.aheadSeconds >= aheadSeconds - agreementSeconds)
    return {
      seconds: aheadSeconds,
      measuredAt: at,
      isEstimate: true,
      isCertain: aheadSeconds > 0 || agreeing.length >= leastAgreeing,
    }
  }
}
