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
