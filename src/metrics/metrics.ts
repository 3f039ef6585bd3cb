import type { Registry } from 'prom-client'
import { type Library, type ReadGauge, registerGauge } from './instruments.ts'
import { forgetLabels, type Measured, newMeasured, registerMeasured } from './measured.ts'
import { familiesOf, type MetricFamily } from './metric-families.ts'
import { metricsJson } from './metrics-json.ts'
import { registerRuntimeMetrics } from './runtime.ts'

/** docs/contract/key-sources.md#alerts */
const keyAlertKinds = ['used_after_removal', 'unusual_key', 'single_key', 'document_changed']

export type MeasuredRequest = {
  readonly method: string
  readonly route: string
  readonly code: number
  readonly seconds: number
}

export type MeasuredLogin = {
  readonly mount: string
  readonly method: string
  readonly kind: string
  readonly result: string
  readonly reason: string
  readonly seconds: number
}

type AuditedEntry = { readonly device: string; readonly succeeded: boolean; readonly seconds: number }

type UpstreamRequest = { readonly service: string; readonly outcome: string; readonly seconds: number }

/** The greatest number of distinct `mount`, `device` and `quota` labels: operators choose them. */
const maxLabels = 200
const otherLabel = 'other'

type Present = {
  /** Their full paths. */
  mounts(): readonly string[]
  devices(): readonly string[]
  begin(): void
}

function bounded(known: Set<string>, label: string): string {
  if (known.has(label)) return label
  if (known.size >= maxLabels) return otherLabel
  known.add(label)
  return label
}

/**
 * The metrics of one server. The Prometheus library is loaded on the first export. No label value is chosen
 * freely by a client. docs/monitoring.md#metrics
 */
export class Metrics {
  readonly #gauges = new Map<string, ReadGauge>()
  readonly #mounts = new Set<string>()
  readonly #devices = new Set<string>()
  readonly #quotas = new Set<string>()
  readonly #measured: Measured = newMeasured()
  #present: Present | undefined
  #registry: Registry | undefined

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

  /** Until it is disposed, each export removes what was counted for mounts and devices that are gone. */
  follow(present: Present): Disposable {
    this.#present = present
    return {
      [Symbol.dispose]: () => {
        if (this.#present === present) this.#present = undefined
      },
    }
  }

  request({ method, route, code, seconds }: MeasuredRequest): void {
    this.#measured.counters.http_requests_total.add({ method, route, code: String(code) })
    this.#measured.histograms.http_request_duration_seconds.observe({ method, route }, seconds)
  }

  refused(reason: 'size' | 'timeout' | 'malformed' | 'overload' | 'handshake'): void {
    this.#measured.counters.http_refused_total.add({ reason })
  }

  rateLimited(quota: string): void {
    this.#measured.counters.rate_limited_total.add({ quota: bounded(this.#quotas, quota) })
  }

  halted(effect: string): void {
    this.#measured.counters.window_refused_total.add({ effect })
  }

  login({ mount: path, method, kind, result, reason, seconds }: MeasuredLogin): void {
    const mount = this.mountLabel(path)
    this.#measured.counters.logins_total.add({ mount, method, kind, result, reason })
    this.#measured.histograms.login_duration_seconds.observe({ mount, method }, seconds)
  }

  /**
   * Shows the counters of a mount that alerts wait for: Prometheus sees no increase when a series begins with 1.
   * `reasons` are those of logins at which the server or a service is at fault.
   */
  beginLogins(path: string, method: string, reasons: readonly string[] = ['internal']): void {
    const mount = this.mountLabel(path)
    for (const reason of reasons)
      this.#measured.counters.logins_total.begin({ mount, method, kind: 'login', result: 'error', reason })
  }

  /** The same for what only mounts with keys of issuers count. */
  beginKeyLogins(path: string): void {
    const mount = this.mountLabel(path)
    this.#measured.counters.lookalike_logins_total.begin({ mount })
    for (const kind of keyAlertKinds) this.#measured.counters.key_alerts_total.begin({ mount, kind })
    for (const result of ['ok', 'failed']) this.#measured.counters.key_fetches_total.begin({ mount, result })
  }

  lookalike(mount: string): void {
    this.#measured.counters.lookalike_logins_total.add({ mount: this.mountLabel(mount) })
  }

  keyAlert(mount: string, kind: string): void {
    this.#measured.counters.key_alerts_total.add({ mount: this.mountLabel(mount), kind })
  }

  keysFetched(mount: string, succeeded: boolean): void {
    const result = succeeded ? 'ok' : 'failed'
    this.#measured.counters.key_fetches_total.add({ mount: this.mountLabel(mount), result })
  }

  kvOperation({
    mount,
    operation,
    result,
  }: Readonly<Record<'mount' | 'operation' | 'result', string>>): void {
    this.#measured.counters.kv_operations_total.add({ mount: this.mountLabel(mount), operation, result })
  }

  tokenCreated(type: string, source: string): void {
    this.#measured.counters.tokens_created_total.add({ type, source })
  }

  tokenDeleted(cause: string): void {
    this.#measured.counters.tokens_revoked_total.add({ cause })
  }

  leaseRevoked(mount: string, outcome: string): void {
    this.#measured.counters.lease_revocations_total.add({ mount: this.mountLabel(mount), outcome })
  }

  upstream({ service, outcome, seconds }: UpstreamRequest): void {
    this.#measured.counters.upstream_requests_total.add({ service, outcome })
    this.#measured.histograms.upstream_request_duration_seconds.observe({ service }, seconds)
  }

  tlsReloaded(succeeded: boolean): void {
    this.#measured.counters.tls_reloads_total.add({ outcome: succeeded ? 'loaded' : 'failed' })
  }

  clockStepped(direction: 'back' | 'forward'): void {
    this.#measured.counters.clock_steps_total.add({ direction })
  }

  /** Shows the counters of a background job of this kind, which alerts wait for. */
  beginJob(job: string): void {
    for (const outcome of ['ok', 'failed'])
      this.#measured.counters.background_runs_total.begin({ job, outcome })
  }

  jobRan(job: string, outcome: 'ok' | 'failed'): void {
    this.beginJob(job)
    this.#measured.counters.background_runs_total.add({ job, outcome })
  }

  /** An audit device has written an entry, or could not. */
  audited({ device: path, succeeded, seconds }: AuditedEntry): void {
    const device = this.deviceLabel(path)
    this.#measured.counters.audit_records_total.add({ device, outcome: succeeded ? 'ok' : 'failed' })
    this.#measured.histograms.audit_write_duration_seconds.observe({ device }, seconds)
  }

  storageOperated(operation: string, seconds: number): void {
    this.#measured.histograms.storage_operation_duration_seconds.observe({ operation }, seconds)
  }

  storageCommitted(steps: number, seconds: number): void {
    this.#measured.histograms.storage_commit_duration_seconds.observe({}, seconds)
    this.#measured.histograms.storage_commit_steps.observe({}, steps)
  }

  storageFailed(kind: string): void {
    this.#measured.counters.storage_errors_total.add({ kind })
  }

  /** The label for a mount: its path, or `other` for one that is gone, or once there are too many. */
  mountLabel(path: string): string {
    return path === '' ? otherLabel : bounded(this.#mounts, path)
  }

  /** The label for an audit device: its path, or `other` once there are too many. */
  deviceLabel(path: string): string {
    return bounded(this.#devices, path)
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const registry = await this.#loaded()
    return { contentType: registry.contentType, body: await registry.metrics() }
  }

  /** In the JSON form of `sys/metrics`. `now` is milliseconds since the epoch. docs/monitoring.md#metrics */
  async json(now: number): Promise<object> {
    return metricsJson(await this.families(), now)
  }

  async families(): Promise<MetricFamily[]> {
    return await familiesOf(await this.#loaded())
  }

  #followPresent(): void {
    if (this.#present === undefined) return
    const { mounts, devices, begin } = this.#present
    this.#forgetRemoved('mount', this.#mounts, mounts())
    this.#forgetRemoved('device', this.#devices, devices())
    begin()
  }

  #forgetRemoved(label: 'mount' | 'device', known: Set<string>, present: readonly string[]): void {
    const gone = known.difference(new Set(present))
    if (gone.size === 0) return
    for (const one of gone) known.delete(one)
    forgetLabels(this.#measured, ({ [label]: value }) => value !== undefined && gone.has(value))
  }

  async #loaded(): Promise<Registry> {
    this.#followPresent()
    const library = await import('prom-client')
    this.#registry ??= this.#load(library)
    const registry = this.#registry
    for (const { name, help, labels, type } of this.#gauges.values())
      if (registry.getSingleMetric(`gatehouse_${name}`) === undefined) {
        const read = () => this.#gauges.get(name)?.read() ?? []
        registerGauge(library, registry, { name, help, labels, read, ...(type && { type }) })
      }
    return registry
  }

  #load(library: Library): Registry {
    const registry = new library.Registry()
    registerMeasured(library, registry, this.#measured)
    registerRuntimeMetrics(library, registry)
    return registry
  }
}
