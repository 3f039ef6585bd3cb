import { shortDuration } from '../../../lib/text/go-duration.ts'

/** Default and greatest TTL, in seconds. */
export type TtlBounds = { readonly defaultTtl: number; readonly maxTtl: number }

/**
 * The TTL bounds of a mount: its own where set, else the system's. A mount's bounds may exceed the system's.
 * docs/contract/tokens-and-policies.md#lifetimes
 */
export const mountTtl = (
  config: { default_lease_ttl: number; max_lease_ttl: number },
  system: TtlBounds,
): TtlBounds => ({
  defaultTtl: config.default_lease_ttl > 0 ? config.default_lease_ttl : system.defaultTtl,
  maxTtl: config.max_lease_ttl > 0 ? config.max_lease_ttl : system.maxTtl,
})

/** Requested durations in seconds; 0 or absent is unset. */
export type LifetimeTerms = {
  readonly increment?: number
  readonly ttl?: number
  readonly period?: number
  readonly maxTtl?: number
  readonly explicitMaxTtl?: number
  /** The end of its scope, in milliseconds since the epoch, which is no cause for a warning: whoever logs in asks for it. */
  readonly scopeEnd?: number | undefined
}

export type Lifetime = { ok: true; ttl: number; warnings: string[] } | { ok: false; reason: string }

/**
 * Computes the TTL, in seconds, that is granted or renewed at `now` for a token or lease issued at `issuedAt`
 * (both in milliseconds). docs/contract/tokens-and-policies.md#lifetimes
 */
export function lifetime(bounds: TtlBounds, terms: LifetimeTerms, now: number, issuedAt = now): Lifetime {
  const life = policyLifetime(bounds, terms, { now, issuedAt })
  if (!life.ok || terms.scopeEnd === undefined) return life
  const left = Math.floor((terms.scopeEnd - now) / 1000)
  return left <= 0 ? pastMax : { ...life, ttl: Math.min(life.ttl, left) }
}

const pastMax: Lifetime = { ok: false, reason: 'past the max TTL, cannot renew' }

function policyLifetime(
  bounds: TtlBounds,
  terms: LifetimeTerms,
  { now, issuedAt }: { now: number; issuedAt: number },
): Lifetime {
  const { increment = 0, ttl = 0, period = 0, maxTtl = 0, explicitMaxTtl = 0 } = terms
  const cap = [maxTtl, explicitMaxTtl].reduce(
    (least, limit) => (limit > 0 && limit < least ? limit : least),
    bounds.maxTtl,
  )
  const warnings: string[] = []
  let granted = increment > 0 ? increment : ttl > 0 ? ttl : bounds.defaultTtl
  let span: number | undefined = cap
  if (period > 0) {
    granted = period
    if (period > cap) {
      warnings.push(capped('period', period, cap))
      granted = cap
    }
    span = explicitMaxTtl > 0 ? explicitMaxTtl : undefined
  }
  if (span === undefined) return { ok: true, ttl: granted, warnings }

  const left = wholeSeconds(issuedAt) + span - wholeSeconds(now)
  if (left <= 0) return pastMax
  if (granted > left) {
    warnings.push(capped('TTL', granted, left))
    granted = left
  }
  return { ok: true, ttl: granted, warnings }
}

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000)

const capped = (what: 'TTL' | 'period', wanted: number, cap: number): string =>
  `${what} of "${shortDuration(wanted)}" exceeded the effective max_ttl of "${shortDuration(cap)}"; ${what} value is capped accordingly`
