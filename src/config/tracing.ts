import { SettingError } from './setting.ts'

/** Where and how traces are sent, by the standard names of OpenTelemetry. docs/monitoring.md#traces */
export type TracingSettings = {
  readonly url: string
  readonly service: string
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: string
  /** Of a sampler that takes a part of the traces. */
  readonly ratio: number
}

const samplers = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

export function readTracing(
  environment: Readonly<Record<string, string | undefined>>,
): TracingSettings | undefined {
  const given = (name: string) => environment[`OTEL_${name}`] || undefined
  const all = given('EXPORTER_OTLP_ENDPOINT')
  const own = given('EXPORTER_OTLP_TRACES_ENDPOINT')
  if (own === undefined && all === undefined) return undefined
  if (given('SDK_DISABLED') === 'true' || given('TRACES_EXPORTER') === 'none') return undefined
  const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const url = URL.parse(own ?? `${all?.replace(/\/$/, '')}/v1/traces`)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new SettingError(`${name}: must be a URL like http://collector:4318`)
  const sampler = given('TRACES_SAMPLER') ?? 'parentbased_always_on'
  if (!samplers.includes(sampler))
    throw new SettingError(`OTEL_TRACES_SAMPLER: must be one of ${samplers.join(', ')}`)
  const ratio = Number(given('TRACES_SAMPLER_ARG') ?? '1')
  if (!(ratio >= 0 && ratio <= 1)) throw new SettingError('OTEL_TRACES_SAMPLER_ARG: must be from 0 to 1')
  const pairs = (given('RESOURCE_ATTRIBUTES') ?? '').split(',').map((pair) => pair.split('=', 2))
  const resource = Object.fromEntries(
    pairs.flatMap(([key = '', value]) => (value === undefined ? [] : [[key.trim(), value.trim()]])),
  )
  const service = given('SERVICE_NAME') ?? resource['service.name'] ?? 'gatehouse'
  return { url: url.href, service, resource, sampler, ratio }
}
