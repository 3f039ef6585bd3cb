import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
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
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TracingSettings } from './config.ts'
import type { OutboundTrace } from './core/outbound.ts'
import type { RequestSpan, RequestTracing } from './http/request-span.ts'

/** How long a stop waits for spans that are not sent yet. */
const closeMs = 1_000
/** A collector that takes longer loses spans; requests never wait for it. */
const exportMs = 5_000

/**
 * Sends spans of requests, and of what they do, to a collector. Spans are made by hand, so that no URL, query,
 * body or header becomes an attribute. docs/monitoring.md#traces
 */
export class Tracing implements RequestTracing, AsyncDisposable {
  readonly #provider: TracerProvider
  readonly #propagator = new W3CTraceContextPropagator()
  readonly #current = new AsyncLocalStorage<Context>()

  constructor(settings: TracingSettings, version: string) {
    const exporter = new OTLPTraceExporter({ url: settings.url, timeoutMillis: exportMs })
    this.#provider = new TracerProvider({
      sampler: samplerOf(settings),
      resource: resourceFromAttributes({
        ...settings.resource,
        'service.name': settings.service,
        'service.version': version,
      }),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    })
  }

  begin(headers: IncomingHttpHeaders): RequestSpan {
    const parent = this.#propagator
    const { traceparent, tracestate } = headers
    const context = parent.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter)
    const span = this.#tracer.startSpan('request', { kind: SpanKind.SERVER }, context)
    return {
      run: (work) => this.#current.run(trace.setSpan(context, span), work),
      end: ({ method, route, status, mount, namespace, requestId, reason }) => {
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
    if (context === undefined) return
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
    const limit = new AbortController()
    const late = pause(closeMs, undefined, { signal: limit.signal }).catch(() => undefined)
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late])
    limit.abort()
  }

  get #tracer() {
    return this.#provider.getTracer('gatehouse')
  }
}

/** The standard names of samplers. */
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
