import type { Registry } from 'prom-client'
import { Counter, durationBounds, Histogram, type Labels } from './counters.ts'
import { type Library, registerGauge, registerHistogram } from './instruments.ts'

/** Names without `gatehouse_`, help texts and labels. docs/monitoring.md#metrics */
const counters = {
  http_requests_total: ['Completed requests', 'method', 'route', 'code'],
  http_refused_total: ['Requests refused before any work', 'reason'],
  rate_limited_total: ['Requests refused by a rate limit', 'quota'],
  window_refused_total: ['Requests refused by a window of maintenance', 'effect'],
  logins_total: ['Logins, by result and reason', 'mount', 'method', 'kind', 'result', 'reason'],
  lookalike_logins_total: ['Logins with a name that looks like that of another entity', 'mount'],
  key_fetches_total: ['Fetches of keys and discovery documents', 'mount', 'result'],
  key_alerts_total: ['Alerts about the keys of issuers', 'mount', 'kind'],
  kv_operations_total: ['Operations on secrets', 'mount', 'operation', 'result'],
  tokens_created_total: ['Tokens created, by what created them', 'type', 'source'],
  tokens_revoked_total: ['Records of tokens deleted, by why the tokens ended', 'cause'],
  lease_revocations_total: ['Attempts to revoke a lease', 'mount', 'outcome'],
  upstream_requests_total: ['Requests to services that this server uses', 'service', 'outcome'],
  clock_steps_total: ['Steps of the system clock by more than 5 minutes', 'direction'],
  tls_reloads_total: ['Times the certificate was read again', 'outcome'],
  background_runs_total: ['Runs of background jobs', 'job', 'outcome'],
  audit_records_total: ['Audit entries', 'device', 'outcome'],
  storage_errors_total: ['Failed storage calls and checkpoints', 'kind'],
} as const

/** Rare events that alerts wait for: Prometheus sees no increase when a series begins with 1. */
const shownFromStart: Partial<Record<keyof typeof counters, readonly Labels[]>> = {
  http_refused_total: ['size', 'timeout', 'malformed', 'overload', 'handshake'].map((reason) => ({ reason })),
  window_refused_total: [{ effect: 'read_only' }, { effect: 'no_new_credentials' }],
  clock_steps_total: [{ direction: 'back' }, { direction: 'forward' }],
  tls_reloads_total: [{ outcome: 'loaded' }, { outcome: 'failed' }],
  storage_errors_total: [
    'corrupt',
    'record',
    'full',
    'read_only',
    'io',
    'checkpoint',
    'replaced',
    'other',
  ].map((kind) => ({ kind })),
}

/** Each operation has buckets of its own, so they are few. Other histograms show what takes long. */
const routeBounds = [0.05, 0.5]

/** A group has at most 256 steps. */
const stepBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Upper bounds in seconds: a read takes microseconds, a write waits for the disk. */
const operationBounds = [
  0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
]

type HistogramRow = readonly [bounds: readonly number[], help: string, ...labels: string[]]

const histograms = {
  http_request_duration_seconds: [
    routeBounds,
    'Time from the request head to the end of the response',
    'method',
    'route',
  ],
  login_duration_seconds: [durationBounds, 'Duration of logins', 'mount', 'method'],
  upstream_request_duration_seconds: [
    durationBounds,
    'Time until a service has answered or the request has failed',
    'service',
  ],
  audit_write_duration_seconds: [durationBounds, 'Duration of writes of audit entries', 'device'],
  storage_operation_duration_seconds: [
    operationBounds,
    'Duration of storage calls that succeed; of a write, until it is durable',
    'operation',
  ],
  storage_commit_duration_seconds: [
    durationBounds,
    'Time from the start of a group of writes to the end of its sync',
  ],
  storage_commit_steps: [stepBounds, 'Number of writes in a commit'],
} as const satisfies Record<string, HistogramRow>

export type Measured = {
  readonly counters: Readonly<Record<keyof typeof counters, Counter>>
  readonly histograms: Readonly<Record<keyof typeof histograms, Histogram>>
}

export const newMeasured = (): Measured => ({
  counters: mapped(counters, (_, name) => new Counter(shownFromStart[name])),
  histograms: mapped(histograms, ([bounds]) => new Histogram(bounds)),
})

export function forgetLabels({ counters, histograms }: Measured, isGone: (labels: Labels) => boolean): void {
  for (const kept of [...Object.values(counters), ...Object.values(histograms)]) kept.forget(isGone)
}

export function registerMeasured(library: Library, registry: Registry, measured: Measured): void {
  for (const [name, counter] of Object.entries(measured.counters)) {
    const [help, ...labels] = counters[name as keyof typeof counters]
    const read = () => counter.entries()
    registerGauge(library, registry, { name, help, labels, type: 'counter', read })
  }
  for (const [name, histogram] of Object.entries(measured.histograms)) {
    const [, help, ...labels] = histograms[name as keyof typeof histograms]
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
