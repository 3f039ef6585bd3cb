import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { readQuery } from './promql.ts'
import { addedLabels, alerts, isAboutWorkers, missingFor, ownLabel, queries } from './queries.ts'
import { documentedMetrics, familyOf, readScrape, type Scrape } from './series.ts'
import { startUsedCloud, startUsedReplica, startUsedServer } from './used-server.ts'

const stack = new AsyncDisposableStack()
let scrape: Scrape
beforeAll(async () => {
  const one = stack.use(await startUsedServer())
  const other = stack.use(await startUsedReplica())
  const cloud = stack.use(await startUsedCloud())
  const scrapes = await Promise.all([
    scrapeWith(one.server, ['gatehouse_leases_irrevocable', 'gatehouse_audit_checkpoint_timestamp_seconds']),
    scrapeWith(other.server, []),
    scrapeWith(cloud.server, ['gatehouse_cloud_root_secret_expiry_timestamp_seconds']),
  ])
  scrape = {
    typeOf: new Map(scrapes.flatMap(({ typeOf }) => [...typeOf])),
    series: scrapes.flatMap(({ series }) => series),
  }
})
afterAll(() => stack.disposeAsync())

/** A scrape once it has these series, and the lag of the event loop, which the first scrape begins to measure. */
const scrapeWith = ({ anonymous }: TestServer, late: readonly string[]): Promise<Scrape> =>
  vi.waitFor(
    async () => {
      const read = readScrape((await anonymous.read('/metrics')).text)
      const names = new Set(read.series.map(({ name }) => name))
      expect([...late, 'nodejs_eventloop_lag_p99_seconds'].filter((name) => !names.has(name))).toEqual([])
      return read
    },
    { timeout: 30_000 },
  )

describe('running servers have the series that every query of the dashboard and of the alerts reads', () => {
  test.each(queries.filter((one) => !isAboutWorkers(one)))('$place: $query', ({ query }) => {
    expect(missingFor(query, scrape.series)).toEqual([])
  })
})

test('alerts about rare events see the first one: its series are there before, with the value 0', async () => {
  await using server = await startTestServer({ settings: { METRICS: 'open' } })
  for (const type of ['approle', 'userpass']) await server.root.write(`sys/auth/${type}`, { type })

  const { series } = readScrape((await server.anonymous.read('/metrics')).text)

  const rare = ['GatehouseLoginErrors', 'GatehouseLookalikeLogin', 'GatehouseJobFails', 'GatehouseClockStep']
  const waiting = alerts.filter(({ alert }) => rare.includes(alert))
  expect(waiting.map(({ expr }) => missingFor(expr, series))).toEqual(rare.map(() => []))
  const valuesOf = (metric: string, label: string, selected: Record<string, string> = {}) =>
    series
      .filter(
        ({ name, labels }) =>
          name === metric && Object.entries(selected).every(([key, value]) => labels[key] === value),
      )
      .map(({ labels }) => labels[label])
  expect(new Set(valuesOf('gatehouse_logins_total', 'mount', { result: 'error' }))).toEqual(
    new Set(['auth/jwt/', 'auth/approle/', 'auth/userpass/']),
  )
  const jobs = valuesOf('gatehouse_background_held', 'job')
  expect(jobs.length).toBeGreaterThan(3)
  expect(valuesOf('gatehouse_background_runs_total', 'job', { outcome: 'failed' })).toEqual(
    expect.arrayContaining(jobs),
  )
})

test('the dashboard shows every metric of the server', () => {
  const asked = new Set(
    queries.flatMap(({ query }) => readQuery(query).selectors.map(({ metric }) => familyOf(metric, scrape))),
  )
  const missing = [...documentedMetrics().keys()].filter((name) => !asked.has(name))

  expect(missing).toEqual([])
})

test('every alert leads to its own section of the runbook, and every section belongs to an alert', () => {
  const page = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8')
  const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name)

  expect(sections).toEqual(alerts.map(({ alert }) => alert))
  expect(alerts.map(({ annotations }) => annotations.runbook_url)).toEqual(
    sections.map((name) => `runbook:#${name.toLowerCase()}`),
  )
})

test('every alert has a severity, and names in its summary only labels that its series have', () => {
  for (const { alert, expr, labels, annotations } of alerts) {
    expect(['critical', 'warning', 'info'], alert).toContain(labels.severity)
    const { selectors, groupedBy } = readQuery(expr)
    const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
    const grouping = /\b(?:sum|max|min) by\b/.test(expr) ? groupedBy : undefined
    const documented = new Set(
      selectors.flatMap(({ metric }) => [
        ...(documentedMetrics().get(familyOf(metric, scrape))?.labels.keys() ?? []),
      ]),
    )
    const known = (label: string) =>
      grouping?.includes(label) ?? (addedLabels.includes(label) || documented.has(ownLabel(label)))
    expect(
      named.filter((label) => !known(label)),
      alert,
    ).toEqual([])
  }
})
