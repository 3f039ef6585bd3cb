import { readFileSync } from 'node:fs'

export type Series = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Metrics as a scrape shows them. `typeOf` has the names of families, without the endings of histograms. */
export type Scrape = { readonly typeOf: ReadonlyMap<string, string>; readonly series: readonly Series[] }

/** Reads the text format of Prometheus. */
export function readScrape(text: string): Scrape {
  const typeOf = new Map<string, string>()
  const series: Series[] = []
  for (const line of text.split('\n')) {
    const [, family = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (family !== '') typeOf.set(family, type)
    const [, name, labels = '', value] = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) continue
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, one]) => [label, one])
    series.push({ name, labels: Object.fromEntries(pairs), value: Number(value) })
  }
  return { typeOf, series }
}

/** The name of the family that a series belongs to. */
export const familyOf = (name: string, { typeOf }: Scrape): string =>
  typeOf.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')

export type DocumentedMetric = {
  readonly type: string
  readonly labels: ReadonlyMap<string, readonly string[]>
}

/**
 * The tables of docs/monitoring.md: type and labels of each metric, with the values of a label if the page
 * lists them.
 */
export function documentedMetrics(): ReadonlyMap<string, DocumentedMetric> {
  const page = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| `(\w+)` \| (gauge|counter|histogram) \| ([^|]*) \|/gm)
  return new Map(
    [...rows].map(([, name, type = '', labels = '']) => [
      `gatehouse_${name}`,
      { type, labels: new Map(labels === '–' ? [] : labelsIn(labels)) },
    ]),
  )
}

/** Reads `` `a`, `b` (`x`, `y`) ``. */
function labelsIn(text: string): [string, string[]][] {
  return [...text.matchAll(/`(\w+)`(?: \(([^)]*)\))?/g)].map(([, name = '', values = '']) => [
    name,
    [...values.matchAll(/`([^`]*)`/g)].map(([, value = '']) => value),
  ])
}

/** Of other servers: over PostgreSQL, with TLS, worker processes or a cloud. */
export const elsewhere: readonly string[] = [
  'gatehouse_cache_confirmed_age_seconds',
  'gatehouse_cloud_debris_objects',
  'gatehouse_cloud_pool_idle',
  'gatehouse_cloud_pool_wanted',
  'gatehouse_cloud_root_certificate_expiry_timestamp_seconds',
  'gatehouse_cloud_root_secret_expiry_timestamp_seconds',
  'gatehouse_storage_pool_connections',
  'gatehouse_tls_certificate_expiry_timestamp_seconds',
  'gatehouse_worker_restarts',
  'gatehouse_worker_up',
]
