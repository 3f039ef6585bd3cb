import type { Registry } from 'prom-client'
import { type ReadGauge, showCounts, showGauge, showSpans } from './instruments.ts'
import { metricsJson } from './metrics-json.ts'
import { showRuntime } from './runtime.ts'
import type { StorageCounters } from './storage-counters.ts'
import { Counter, Histogram } from './counters.ts'

/** A request that has its answer. */
export type MeasuredRequest = {
  readonly method: string
  readonly route: string
  readonly code: number
  readonly seconds: number
}

/** A login that is over. */
export type MeasuredLogin = {
  readonly mount: string
  readonly method: string
  readonly result: string
  readonly reason: string
  readonly seconds: number
}

/** Of mounts, which people name, so many are told apart. */
const maxMounts = 200

/**
 * Counts what happens in one server, and says it in Prometheus' words when asked; only then the library that
 * does is loaded. No label holds what a client may choose freely. docs/operations.md#metrics.
 */
export class Metrics {
  readonly #gauges: readonly ReadGauge[]
  readonly #storage: StorageCounters
  readonly #mounts = new Set<string>()
  readonly #requests = new Counter()
  readonly #requestSpans = new Histogram()
  readonly #refused = new Counter()
  readonly #logins = new Counter()
  readonly #loginSpans = new Histogram()
  readonly #lookalikes = new Counter()
  readonly #keyFetches = new Counter()
  readonly #clockSteps = new Counter()
  #registry: Promise<Registry> | undefined

  constructor(gauges: readonly ReadGauge[], storage: StorageCounters) {
    this.#gauges = gauges
    this.#storage = storage
  }

  request({ method, route, code, seconds }: MeasuredRequest): void {
    this.#requests.add({ method, route, code: String(code) })
    this.#requestSpans.add({ method, route }, seconds)
  }

  /** Before any work. */
  refused(reason: 'size' | 'timeout' | 'malformed' | 'overload'): void {
    this.#refused.add({ reason })
  }

  login({ mount: named, method, result, reason, seconds }: MeasuredLogin): void {
    const mount = this.mountLabel(named)
    this.#logins.add({ mount, method, result, reason })
    this.#loginSpans.add({ mount, method }, seconds)
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

  /** The path of a mount, or `other` once there are too many. */
  mountLabel(path: string): string {
    if (this.#mounts.has(path)) return path
    if (this.#mounts.size >= maxMounts) return 'other'
    this.#mounts.add(path)
    return path
  }

  /** In Prometheus' text format. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const registry = await this.#asked()
    return { contentType: registry.contentType, body: await registry.metrics() }
  }

  /** As `sys/metrics` tells it. `now` is milliseconds since the epoch. docs/operations.md#health */
  async json(now: number): Promise<object> {
    const registry = await this.#asked()
    return metricsJson(await registry.getMetricsAsJSON(), now)
  }

  #asked(): Promise<Registry> {
    this.#registry ??= this.#open()
    return this.#registry
  }

  async #open(): Promise<Registry> {
    const library = await import('prom-client')
    const registry = new library.Registry()
    const requestLabels = ['method', 'route']
    const requests = {
      name: 'http_requests_total',
      help: 'Requests that got an answer',
      labels: [...requestLabels, 'code'],
    }
    showCounts(library, registry, requests, this.#requests)
    const spans = {
      name: 'http_request_duration_seconds',
      help: 'From the head of a request to the end of its answer',
      labels: requestLabels,
    }
    showSpans(registry, spans, this.#requestSpans)
    showCounts(
      library,
      registry,
      { name: 'http_refused_total', help: 'Requests refused before any work', labels: ['reason'] },
      this.#refused,
    )
    const logins = {
      name: 'logins_total',
      help: 'Logins, by how they ended',
      labels: ['mount', 'method', 'result', 'reason'],
    }
    showCounts(library, registry, logins, this.#logins)
    showSpans(
      registry,
      { name: 'login_duration_seconds', help: 'Time of a login', labels: ['mount', 'method'] },
      this.#loginSpans,
    )
    const lookalikes = {
      name: 'lookalike_logins_total',
      help: 'Logins whose name looks like that of another entity',
      labels: ['mount'],
    }
    showCounts(library, registry, lookalikes, this.#lookalikes)
    const fetches = {
      name: 'key_fetches_total',
      help: 'Fetches of keys and discovery documents',
      labels: ['mount', 'result'],
    }
    showCounts(library, registry, fetches, this.#keyFetches)
    const steps = {
      name: 'clock_steps_total',
      help: 'Times the machine’s clock was set by more than 5 minutes',
      labels: ['direction'],
    }
    showCounts(library, registry, steps, this.#clockSteps)
    this.#storage.show(library, registry)
    for (const gauge of this.#gauges) showGauge(library, registry, gauge)
    showRuntime(library, registry)
    return registry
  }
}
