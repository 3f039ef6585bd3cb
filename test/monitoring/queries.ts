import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { readQuery, takes } from './promql.ts'
import type { Series } from './series.ts'

const folder = new URL('../../deploy/monitoring/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')

type Alert = {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook_url: string }
}
export const alerts: Alert[] = (
  parse(read('alerts.yaml')) as { groups: { rules: Alert[] }[] }
).groups.flatMap(({ rules }) => rules)

type Panel = { title: string; targets?: { expr: string; legendFormat: string }[] }
const panels = (JSON.parse(read('grafana-dashboard.json')) as { panels: Panel[] }).panels

/** The queries of the alerts and of the dashboard. */
export const queries = [
  ...alerts.map(({ alert, expr }) => ({ place: alert, query: expr })),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ place: title, query: expr.replaceAll('$__rate_interval', '5m') })),
  ),
]

/** Prometheus adds these; it renames a label `job` of ours, because it has one of its own. */
export const addedLabels = ['instance', 'job']
export const ownLabel = (label: string) => (label === 'exported_job' ? 'job' : label)

/** What a query asks for and these series do not have: series that it selects, and labels by which it groups. */
export function missingFor(query: string, series: readonly Series[]): string[] {
  const { selectors, groupedBy } = readQuery(query)
  const selected = selectors
    .filter(({ metric }) => metric !== 'up')
    .map(({ metric, matchers }) => ({
      metric,
      found: series.filter(
        ({ name, labels }) =>
          name === metric &&
          matchers
            .filter(({ label }) => !addedLabels.includes(label))
            .every((matcher) => takes(matcher, labels[ownLabel(matcher.label)] ?? '')),
      ),
    }))
  const labels = new Set(selected.flatMap(({ found }) => found.flatMap((one) => Object.keys(one.labels))))
  return [
    ...selected.filter(({ found }) => found.length === 0).map(({ metric }) => metric),
    ...groupedBy.filter((label) => !addedLabels.includes(label) && !labels.has(ownLabel(label))),
  ]
}

/** Worker processes have a scrape of their own. */
export const isAboutWorkers = ({ query }: { readonly query: string }): boolean =>
  query.includes('gatehouse_worker_')
