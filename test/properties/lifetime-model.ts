/**
 * The four steps of docs/contract/tokens-and-policies.md#lifetimes again, in whole seconds as big integers,
 * written independently of `src/core/tokens/store/lifetime.ts`.
 */

/** All in seconds (0 is unset) except the two instants, which are milliseconds since 1970. */
export type LifetimeQuestion = {
  readonly mountDefault: bigint
  readonly mountMax: bigint
  readonly increment: bigint
  readonly ttl: bigint
  readonly period: bigint
  readonly maxTtl: bigint
  readonly explicitMax: bigint
  readonly startMs: bigint
  readonly nowMs: bigint
}

/** The granted seconds and the warnings, or that the hard limit has passed. */
export type LifetimeAnswer =
  | { readonly seconds: bigint; readonly warnings: readonly string[] }
  | 'past the max TTL, cannot renew'

/** The four steps in the order of the page. */
export function modelLifetime(asked: LifetimeQuestion): LifetimeAnswer {
  const warnings: string[] = []
  const start = asked.startMs / 1000n
  const now = asked.nowMs / 1000n

  let cap = asked.mountMax
  if (0n < asked.maxTtl && asked.maxTtl < cap) cap = asked.maxTtl
  if (0n < asked.explicitMax && asked.explicitMax < cap) cap = asked.explicitMax

  let result: bigint
  let hardEnd: bigint | undefined
  if (asked.period > 0n) {
    result = asked.period
    if (result > cap) {
      warnings.push(
        `period of "${shortForm(result)}" exceeded the effective max_ttl of "${shortForm(cap)}"; period value is capped accordingly`,
      )
      result = cap
    }
    hardEnd = asked.explicitMax > 0n ? start + asked.explicitMax : undefined
  } else {
    result = asked.increment > 0n ? asked.increment : asked.ttl > 0n ? asked.ttl : asked.mountDefault
    hardEnd = start + cap
  }

  if (hardEnd !== undefined) {
    const left = hardEnd - now
    if (left <= 0n) return 'past the max TTL, cannot renew'
    if (result > left) {
      warnings.push(
        `TTL of "${shortForm(result)}" exceeded the effective max_ttl of "${shortForm(left)}"; TTL value is capped accordingly`,
      )
      result = left
    }
  }
  return { seconds: result, warnings }
}

/** The short form in warnings: hours, minutes, seconds, without zero parts and never days. */
export function shortForm(seconds: bigint): string {
  if (seconds === 0n) return '0s'
  const parts = [
    [seconds / 3600n, 'h'],
    [(seconds / 60n) % 60n, 'm'],
    [seconds % 60n, 's'],
  ] as const
  return parts
    .filter(([amount]) => amount !== 0n)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join('')
}
