import type { Registry } from 'prom-client'
import { Counter, Histogram } from './counters.ts'
import {
  type Library,
  type ReadGauge,
  registerCounter,
  registerGauge,
  registerHistogram,
} from './instruments.ts'
import { familiesOf, type MetricFamily } from './metric-families.ts'
import { metricsJson } from './metrics-json.ts'
import { registerRuntimeMetrics } from './runtime.ts'
import type { StorageCounters } from './storage-counters.ts'

/** A completed request. */
export type MeasuredRequest = {
  readonly method: string
  readonly route: string
  readonly code: number
  readonly seconds: number
}

/** A completed login. */
export type MeasuredLogin = {
  readonly mount: string
  readonly method: string
  readonly result: string
  readonly reason: string
  readonly seconds: number
}

/** An entry for one audit device. */
type AuditedEntry = { readonly device: string; readonly succeeded: boolean; readonly seconds: number }

/**
 * The greatest number of distinct `mount` and `device` labels, and of `quota` labels: operators choose them, so
 * they are not bounded.
 */
const maxMounts = 200

function bounded(known: Set<string>, label: string): string {
  if (known.has(label)) return label
  if (known.size >= maxMounts) return 'other'
  known.add(label)
  return label
}

/**
 * The metrics of one server. The Prometheus library is loaded on the first export. No label value is chosen
 * freely by a client. docs/operations.md#metrics
 */
export class Metrics {
  readonly #gauges = new Map<string, ReadGauge>()
  readonly #storage: StorageCounters
  readonly #mounts = new Set<string>()
  readonly #quotas = new Set<string>()
  readonly #requests = new Counter()
  readonly #requestDurations = new Histogram()
  readonly #refused = new Counter()
  readonly #rateLimited = new Counter()
  readonly #logins = new Counter()
  readonly #loginDurations = new Histogram()
  readonly #lookalikes = new Counter()
  readonly #keyFetches = new Counter()
  readonly #clockSteps = new Counter()
  readonly #jobRuns = new Counter()
  readonly #audited = new Counter()
  readonly #auditDurations = new Histogram()
  #registry: Registry | undefined

  constructor(storage: StorageCounters) {
    this.#storage = storage
  }

  /** Adds gauges until they are disposed; gauges of the same name may then follow. */
  add(gauges: readonly ReadGauge[]): Disposable {
    for (const gauge of gauges) this.#gauges.set(gauge.name, gauge)
    return {
      [Symbol.dispose]: () => {
        for (const gauge of gauges)
          if (this.#gauges.get(gauge.name) === gauge)
            this.#gauges.set(gauge.name, { ...gauge, read: () => [] })
      },
    }
  }

  request({ method, route, code, seconds }: MeasuredRequest): void {
    this.#requests.add({ method, route, code: String(code) })
    this.#requestDurations.observe({ method, route }, seconds)
  }

  /** A request that was refused before any work. */
  refused(reason: 'size' | 'timeout' | 'malformed' | 'overload'): void {
    this.#refused.add({ reason })
  }

  /** A request that a rate limit refused. */
  rateLimited(quota: string): void {
    this.#rateLimited.add({ quota: bounded(this.#quotas, quota) })
  }

  login({ mount: path, method, result, reason, seconds }: MeasuredLogin): void {
    const mount = this.mountLabel(path)
    this.#logins.add({ mount, method, result, reason })
    this.#loginDurations.observe({ mount, method }, seconds)
  }

  /** A login whose name looks like that of another entity. */
  lookalike(mount: string): void {
    this.#lookalikes.add({ mount: this.mountLabel(mount) })
  }

  keysFetched(mount: string, succeeded: boolean): void {
    this.#keyFetches.add({ mount: this.mountLabel(mount), result: succeeded ? 'ok' : 'failed' })
  }

  clockStepped(direction: 'back' | 'forward'): void {
    this.#clockSteps.add({ direction })
  }

  /** A background job of this kind has run. */
  jobRan(job: string, outcome: 'ok' | 'failed'): void {
    this.#jobRuns.add({ job, outcome })
  }

  /** An audit device has written an entry, or could not. */
  audited({ device: path, succeeded, seconds }: AuditedEntry): void {
    const device = this.mountLabel(path)
    this.#audited.add({ device, outcome: succeeded ? 'ok' : 'failed' })
    this.#auditDurations.observe({ device }, seconds)
  }

  /** The label for a mount: its path, or `other` once there are too many. */
  mountLabel(path: string): string {
    return bounded(this.#mounts, path)
  }

  /** In the Prometheus text format. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const registry = await this.#loaded()
    return { contentType: registry.contentType, body: await registry.metrics() }
  }

  /** In the JSON form of `sys/metrics`. `now` is milliseconds since the epoch. docs/operations.md#health */
  async json(now: number): Promise<object> {
    return metricsJson(await this.families(), now)
  }

  async families(): Promise<MetricFamily[]> {
    return await familiesOf(await this.#loaded())
  }

  async #loaded(): Promise<Registry> {
    const library = await import('prom-client')
    this.#registry ??= this.#load(library)
    const registry = this.#registry
    for (const { name, help, labels } of this.#gauges.values())
      if (registry.getSingleMetric(`gatehouse_${name}`) === undefined) {
        const read = () => this.#gauges.get(name)?.read() ?? []
        registerGauge(library, registry, { name, help, labels, read })
      }
    return registry
  }

  #load(library: Library): Registry {
    const registry = new library.Registry()
    const requestLabels = ['method', 'route']
    const requests = {
      name: 'http_requests_total',
      help: 'Completed requests',
      labels: [...requestLabels, 'code'],
    }
    registerCounter(library, registry, requests, this.#requests)
    const durations = {
      name: 'http_request_duration_seconds',
      help: 'Time from the request head to the end of the response',
      labels: requestLabels,
    }
    registerHistogram(registry, durations, this.#requestDurations)
    registerCounter(
      library,
      registry,
      { name: 'http_refused_total', help: 'Requests refused before any work', labels: ['reason'] },
      this.#refused,
    )
    registerCounter(
      library,
      registry,
      { name: 'rate_limited_total', help: 'Requests refused by a rate limit', labels: ['quota'] },
      this.#rateLimited,
    )
    const logins = {
      name: 'logins_total',
      help: 'Logins, by result and reason',
      labels: ['mount', 'method', 'result', 'reason'],
    }
    registerCounter(library, registry, logins, this.#logins)
    registerHistogram(
      registry,
      { name: 'login_duration_seconds', help: 'Duration of logins', labels: ['mount', 'method'] },
      this.#loginDurations,
    )
    const lookalikes = {
      name: 'lookalike_logins_total',
      help: 'Logins with a name that looks like that of another entity',
      labels: ['mount'],
    }
    registerCounter(library, registry, lookalikes, this.#lookalikes)
    const fetches = {
      name: 'key_fetches_total',
      help: 'Fetches of keys and discovery documents',
      labels: ['mount', 'result'],
    }
    registerCounter(library, registry, fetches, this.#keyFetches)
    const steps = {
      name: 'clock_steps_total',
      help: 'Steps of the system clock by more than 5 minutes',
      labels: ['direction'],
    }
    registerCounter(library, registry, steps, this.#clockSteps)
    const runs = {
      name: 'background_runs_total',
      help: 'Runs of background jobs',
      labels: ['job', 'outcome'],
    }
    registerCounter(library, registry, runs, this.#jobRuns)
    registerCounter(
      library,
      registry,
      { name: 'audit_records_total', help: 'Audit entries', labels: ['device', 'outcome'] },
      this.#audited,
    )
    registerHistogram(
      registry,
      {
        name: 'audit_write_duration_seconds',
        help: 'Duration of writes of audit entries',
        labels: ['device'],
      },
      this.#auditDurations,
    )
    this.#storage.register(library, registry)
    registerRuntimeMetrics(library, registry)
    return registry
  }
}
