import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TracingSettings } from '../config/tracing.ts'
import type { OutboundTrace } from '../core/outbound/outbound.ts'
import type { RequestSpan, RequestTracing } from '../http/exchange/request-span.ts'
import { within } from '../lib/concurrency/within.ts'
import type { Log } from '../log/log.ts'

/** How long a stop waits for spans that are not sent yet. */
const closeMs = 1_000
/** A collector that takes longer loses spans; requests never wait for it. */
const exportMs = 5_000
/** Spans that wait to be sent. While there are as many, no trace begins: one without its parts tells little. */
const mostWaiting = 2_048
/** A collector that has failed gets one trace after this time, which tells whether it takes traces again. */
const restMs = 10_000

/**
 * Sends spans of requests, and of what they do, to a collector. Spans are made by hand, so that no URL, query,
 * body or header becomes an attribute. docs/monitoring.md#traces
 */
export class Tracing implements RequestTracing, AsyncDisposable {
  readonly #provider: TracerProvider
  readonly #collector: Collector
  readonly #propagator = new W3CTraceContextPropagator()
  readonly #current = new AsyncLocalStorage<Context>()

  constructor(settings: TracingSettings, { version, log }: { version: string; log: Log }) {
    const exporter = new OTLPTraceExporter({ url: settings.url, timeoutMillis: exportMs })
    this.#collector = new Collector(exporter, log)
    this.#provider = new TracerProvider({
      sampler: samplerOf(settings),
      resource: resourceFromAttributes({
        ...settings.resource,
        'service.name': settings.service,
        'service.version': version,
      }),
      spanProcessors: [new CountingProcessor(this.#collector)],
    })
  }

  begin(headers: IncomingHttpHeaders): RequestSpan | undefined {
    if (!this.#collector.takesTraces()) return undefined
    const parent = this.#propagator
    const { traceparent, tracestate } = headers
    const context = parent.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter)
    const span = this.#tracer.startSpan('request', { kind: SpanKind.SERVER }, context)
    return {
      run: (work) => this.#current.run(trace.setSpan(context, span), work),
      end: ({ method, route, status, mount, namespace, requestId, reason }) => {
        if (!span.isRecording()) return
        span.updateName(`${method} ${route}`)
        span.setAttributes({
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          'gatehouse.request_id': requestId,
          'gatehouse.mount': mount,
          'gatehouse.namespace': namespace,
          ...(reason === '' ? {} : { 'gatehouse.reason': reason }),
        })
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }

  /** A part of the current request that has just ended. No effect outside of a request. */
  ended(name: string, seconds: number, attributes: Attributes = {}): void {
    const context = this.#current.getStore()
    if (context === undefined || trace.getSpan(context)?.isRecording() !== true) return
    const now = performance.timeOrigin + performance.now()
    this.#tracer.startSpan(name, { startTime: now - seconds * 1000, attributes }, context).end(now)
  }

  /** A request to another service, as a part of the current one. Undefined outside of a request. */
  readonly outgoing: OutboundTrace = ({ service, method, host }) => {
    const context = this.#current.getStore()
    if (context === undefined) return undefined
    const attributes = { 'http.request.method': method, 'server.address': host, 'gatehouse.service': service }
    const span: Span = this.#tracer.startSpan(
      `${method} ${service}`,
      { kind: SpanKind.CLIENT, attributes },
      context,
    )
    const headers: Record<string, string> = {}
    this.#propagator.inject(trace.setSpan(context, span), headers, defaultTextMapSetter)
    return {
      headers,
      end: (outcome) => {
        span.setAttribute('gatehouse.outcome', outcome)
        if (outcome !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }

  /** Sends what was not sent yet, if the collector takes it soon. */
  async [Symbol.asyncDispose](): Promise<void> {
    await within(
      closeMs,
      this.#provider.shutdown().catch(() => undefined),
    )
  }

  get #tracer() {
    return this.#provider.getTracer('gatehouse')
  }
}

/** Sends spans, and knows whether they arrive: spans that nobody takes are not even made. docs/monitoring.md#traces */
class Collector implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: Log
  #waiting = 0
  #isAway = false
  #restsUntil = 0

  constructor(exporter: SpanExporter, log: Log) {
    this.#exporter = exporter
    this.#log = log
  }

  takesTraces(): boolean {
    if (!this.#isAway) return !this.isFull
    const now = performance.now()
    if (now < this.#restsUntil || this.isFull) return false
    this.#restsUntil = now + restMs
    return true
  }

  get isFull(): boolean {
    return this.#waiting >= mostWaiting
  }

  expect(): void {
    this.#waiting += 1
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#waiting -= spans.length
      this.#note(result.code === ExportResultCode.SUCCESS)
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  #note(hasTaken: boolean): void {
    if (!hasTaken) this.#restsUntil = performance.now() + restMs
    if (hasTaken !== this.#isAway) return
    this.#isAway = !hasTaken
    if (hasTaken) this.#log.info({ event: 'traces_taken' }, 'the collector takes traces again')
    else
      this.#log.warn({ event: 'traces_refused' }, 'the collector takes no traces: few are made until it does')
  }
}

/** Sends spans in batches, and drops those that the collector is too slow for. */
class CountingProcessor extends BatchSpanProcessor {
  readonly #collector: Collector

  constructor(collector: Collector) {
    super({ exporter: collector, maxQueueSize: mostWaiting })
    this.#collector = collector
  }

  override onEnd(span: ReadableSpan): void {
    if (this.#collector.isFull) return
    this.#collector.expect()
    super.onEnd(span)
  }
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [, parent, name] = /^(parentbased_)?(.*)$/.exec(sampler) ?? []
  const root =
    name === 'always_off'
      ? new AlwaysOffSampler()
      : name === 'traceidratio'
        ? new TraceIdRatioBasedSampler(ratio)
        : new AlwaysOnSampler()
  return parent === undefined ? root : new ParentBasedSampler({ root })
}
