import type { Registry } from 'prom-client'
import { Counter, durationBounds, Histogram, type Labels } from './counters.ts'
import { type Library, type MetricInfo, registerCounter, registerHistogram } from './instruments.ts'

/** Names without `gatehouse_`, help texts and labels. docs/monitoring.md#metrics */
const counters = {
  http_requests_total: ['Completed requests', 'method', 'route', 'code'],
  http_refused_total: ['Requests refused before any work', 'reason'],
  rate_limited_total: ['Requests refused by a rate limit', 'quota'],
  logins_total: ['Logins, by result and reason', 'mount', 'method', 'result', 'reason'],
  lookalike_logins_total: ['Logins with a name that looks like that of another entity', 'mount'],
  key_fetches_total: ['Fetches of keys and discovery documents', 'mount', 'result'],
  kv_operations_total: ['Operations on secrets', 'mount', 'operation', 'result'],
  tokens_created_total: ['Tokens created, by what created them', 'type', 'source'],
  tokens_revoked_total: ['Records of tokens deleted, by why the tokens ended', 'cause'],
  lease_revocations_total: ['Attempts to revoke a lease', 'mount', 'outcome'],
  upstream_requests_total: ['Requests to services that this server uses', 'service', 'outcome'],
  clock_steps_total: ['Steps of the system clock by more than 5 minutes', 'direction'],
  tls_reloads_total: ['Times the certificate was read again', 'outcome'],
  background_runs_total: ['Runs of background jobs', 'job', 'outcome'],
  audit_records_total: ['Audit entries', 'device', 'outcome'],
} as const

/** Rare events that alerts wait for: Prometheus sees no increase when a series begins with 1. */
const shownFromStart: Partial<Record<keyof typeof counters, readonly Labels[]>> = {
  http_refused_total: ['size', 'timeout', 'malformed', 'overload', 'handshake'].map((reason) => ({ reason })),
  clock_steps_total: [{ direction: 'back' }, { direction: 'forward' }],
  tls_reloads_total: [{ outcome: 'loaded' }, { outcome: 'failed' }],
}

/** Each operation has buckets of its own, so they are few. Other histograms show what takes long. */
const routeBounds = [0.05, 0.5]

type HistogramInfo = Pick<MetricInfo, 'help' | 'labels'> & { readonly bounds: readonly number[] }

const histograms = {
  http_request_duration_seconds: {
    help: 'Time from the request head to the end of the response',
    labels: ['method', 'route'],
    bounds: routeBounds,
  },
  login_duration_seconds: { help: 'Duration of logins', labels: ['mount', 'method'], bounds: durationBounds },
  upstream_request_duration_seconds: {
    help: 'Time until a service has answered or the request has failed',
    labels: ['service'],
    bounds: durationBounds,
  },
  audit_write_duration_seconds: {
    help: 'Duration of writes of audit entries',
    labels: ['device'],
    bounds: durationBounds,
  },
} satisfies Record<string, HistogramInfo>

export type Measured = {
  readonly counters: Readonly<Record<keyof typeof counters, Counter>>
  readonly histograms: Readonly<Record<keyof typeof histograms, Histogram>>
}

export const newMeasured = (): Measured => ({
  counters: mapped(counters, (_, name) => new Counter(shownFromStart[name])),
  histograms: mapped<keyof typeof histograms, HistogramInfo, Histogram>(
    histograms,
    ({ bounds }) => new Histogram(bounds),
  ),
})

export function forgetLabels({ counters, histograms }: Measured, isGone: (labels: Labels) => boolean): void {
  for (const kept of [...Object.values(counters), ...Object.values(histograms)]) kept.forget(isGone)
}

export function registerMeasured(library: Library, registry: Registry, measured: Measured): void {
  for (const [name, counter] of Object.entries(measured.counters)) {
    const [help, ...labels] = counters[name as keyof typeof counters]
    registerCounter(library, registry, { name, help, labels }, counter)
  }
  for (const [name, histogram] of Object.entries(measured.histograms)) {
    const { help, labels } = histograms[name as keyof typeof histograms]
    registerHistogram(registry, { name, help, labels }, histogram)
  }
}

function mapped<Name extends string, From, To>(
  from: Readonly<Record<Name, From>>,
  map: (value: From, name: Name) => To,
): Record<Name, To> {
  // it has exactly the names of `from`
  return Object.fromEntries(
    Object.entries<From>(from).map(([name, value]) => [name, map(value, name as Name)]),
  ) as Record<Name, To>
}
