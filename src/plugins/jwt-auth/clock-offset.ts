/** How far another clock is ahead of ours, in whole seconds (negative: behind), and when that was seen. */
export type ClockOffset = {
  readonly seconds: number
  readonly measuredAt: number
  /** It comes from `iat` of tokens, not from a `Date`: the clock may be further ahead. */
  readonly isEstimate: boolean
  /** It can explain a refusal. */
  readonly isCertain: boolean
}

/** The one that was measured last; an estimate only where none was measured. */
export function bestOffset<T extends ClockOffset>(offsets: readonly T[]): T | undefined {
  const measured = offsets.filter(({ isEstimate }) => !isEstimate)
  return (measured.length > 0 ? measured : offsets).reduce<T | undefined>(
    (last, one) => (last === undefined || one.measuredAt >= last.measuredAt ? one : last),
    undefined,
  )
}
