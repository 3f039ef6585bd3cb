import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readQuery } from './promql.ts'
import { documentedMetrics, elsewhere, familyOf, readScrape, type Scrape } from './series.ts'
import { startUsedServer } from './used-server.ts'

const folder = new URL('../../deploy/monitoring/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')

type Alert = {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}
const alerts: Alert[] = (parse(read('alerts.yaml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)

type Panel = { title: string; targets?: { expr: string; legendFormat: string }[] }
const panels = (JSON.parse(read('grafana-dashboard.json')) as { panels: Panel[] }).panels
const queries = [
  ...alerts.map(({ alert, expr }) => ({ place: alert, query: expr })),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ place: title, query: expr.replaceAll('$__rate_interval', '5m') })),
  ),
]

const stack = new AsyncDisposableStack()
let scrape: Scrape
beforeAll(async () => {
  const { server } = stack.use(await startUsedServer())
  await server.anonymous.read('/metrics')
  scrape = readScrape((await server.anonymous.read('/metrics')).text)
})
afterAll(() => stack.disposeAsync())

/** Prometheus adds these; it renames a label `job` of ours, because it has one of its own. */
const added = ['instance', 'job', 'le']
const ours = (label: string) => (label === 'exported_job' ? 'job' : label)

/** The values of each label of a metric that a server shows, or that the page lists. */
function labelsOf(metric: string): ReadonlyMap<string, ReadonlySet<string>> {
  const values = new Map<string, Set<string>>()
  const note = (label: string, value: string) =>
    values.set(label, (values.get(label) ?? new Set()).add(value))
  for (const { name, labels } of scrape.series)
    if (name === metric) for (const [label, value] of Object.entries(labels)) note(label, value)
  for (const [label, listed] of documentedMetrics().get(familyOf(metric, scrape))?.labels ?? [])
    for (const value of [...listed, ...(listed.length === 0 ? [''] : [])]) note(label, value)
  return values
}

const isShown = (metric: string) =>
  scrape.series.some(({ name }) => name === metric) ||
  elsewhere.includes(familyOf(metric, scrape)) ||
  metric.startsWith('nodejs_eventloop_lag_')

describe('every query of the dashboard and of the alerts', () => {
  test.each(queries)('$place: $query', ({ query }) => {
    const { selectors, groupedBy } = readQuery(query)
    const metrics = selectors.map(({ metric }) => metric).filter((metric) => metric !== 'up')
    const labels = metrics.map(labelsOf)

    expect(selectors.length).toBeGreaterThan(0)
    // reads series that a running server has
    expect(metrics.filter((metric) => !isShown(metric))).toEqual([])
    // groups by labels that they have
    const isKnown = (label: string) => added.includes(label) || labels.some((known) => known.has(ours(label)))
    expect(groupedBy.filter((label) => !isKnown(label))).toEqual([])
    // and asks for values that occur
    const wrong = selectors.flatMap(({ metric, matchers }) =>
      matchers
        .filter(({ label }) => label === 'le' || !added.includes(label))
        .flatMap(({ label, values }) =>
          values.filter((value) => !isPossible(labelsOf(metric).get(ours(label)), value)),
        ),
    )
    expect(wrong).toEqual([])
  })
})

/** `5..` stands for any status of that class. */
const isPossible = (known: ReadonlySet<string> | undefined, value: string): boolean =>
  known !== undefined &&
  (known.has(value) ||
    [...known].some((one) => new RegExp(`^(?:${value})$`).test(one)) ||
    /^\d\.\.$/.test(value))

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
    const known = (label: string) =>
      grouping?.includes(label) ??
      (added.includes(label) || selectors.some(({ metric }) => labelsOf(metric).has(ours(label))))
    expect(
      named.filter((label) => !known(label)),
      alert,
    ).toEqual([])
  }
})
