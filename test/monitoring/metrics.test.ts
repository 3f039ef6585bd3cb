import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { documentedMetrics, elsewhere, familyOf, readScrape, type Scrape } from './series.ts'
import { startUsedServer } from './used-server.ts'

let used: Awaited<ReturnType<typeof startUsedServer>>
let scrape: Scrape

beforeAll(async () => {
  used = await startUsedServer()
  const read = async () => readScrape((await used.server.anonymous.read('/metrics')).text)
  // a revocation is counted after the provider has seen it
  await vi.waitFor(
    async () => {
      scrape = await read()
      const has = (metric: string) => scrape.series.some(({ name }) => name === metric)
      expect(has('gatehouse_leases_irrevocable')).toBe(true)
      // and a chain is signed after the file was rotated
      expect(has('gatehouse_audit_checkpoint_timestamp_seconds')).toBe(true)
    },
    { timeout: 30_000 },
  )
})
afterAll(() => used[Symbol.asyncDispose]())

const ofOtherProcesses = new Set(['gatehouse_worker_up', 'gatehouse_worker_restarts'])
const ofTests = 'gatehouse_practice_notes'

test('docs/monitoring.md lists each metric with its type', () => {
  const shown = [...scrape.typeOf].filter(([name]) => name.startsWith('gatehouse_') && name !== ofTests)
  const documented = [...documentedMetrics()].filter(([name]) => !ofOtherProcesses.has(name))

  expect(documented.map(([name, { type }]) => `${name} ${type}`).toSorted()).toEqual(
    shown.map(([name, type]) => `${name} ${type}`).toSorted(),
  )
})

test('each metric has series, with the labels of the page and no others', () => {
  const labels = new Map<string, Set<string>>()
  for (const one of scrape.series) {
    const { le: _, ...own } = one.labels
    const family = familyOf(one.name, scrape)
    labels.set(family, (labels.get(family) ?? new Set()).add(Object.keys(own).toSorted().join()))
  }
  const documented = [...documentedMetrics()].filter(([name]) => !elsewhere.includes(name))

  expect(documented.map(([name, one]) => [name, [...one.labels.keys()].toSorted().join()])).toEqual(
    documented.map(([name]) => [name, [...(labels.get(name) ?? ['no series'])].join(' or ')]),
  )
})

test('a label has only the values that the page lists', () => {
  const unknown = scrape.series.flatMap(({ name, labels }) =>
    [...(documentedMetrics().get(familyOf(name, scrape))?.labels ?? [])]
      .filter(([label, values]) => values.length > 0 && !values.includes(labels[label] ?? ''))
      .map(([label]) => `${name} ${label}=${labels[label]}`),
  )

  expect(unknown).toEqual([])
})

const reading = (name: string, labels: Record<string, string> = {}) =>
  scrape.series.find(
    (one) =>
      one.name === `gatehouse_${name}` &&
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
  )?.value

test.each([
  ['tokens_created_total', { type: 'service', source: 'login' }, 2],
  ['tokens_created_total', { type: 'service', source: 'token' }, 1],
  ['tokens_created_total', { type: 'batch', source: 'token' }, 1],
  ['tokens_created_total', { type: 'service', source: 'wrapping' }, 1],
  ['tokens_revoked_total', { cause: 'spent' }, 1],
  ['leases', { mount: 'practice/' }, 1],
  ['leases_irrevocable', { mount: 'practice/' }, 1],
  ['lease_revocations_total', { mount: 'practice/', outcome: 'ok' }, 1],
  ['lease_revocations_total', { mount: 'practice/', outcome: 'failed' }, 1],
  ['upstream_requests_total', { service: 'keys', outcome: 'ok' }, 1],
  ['upstream_requests_total', { service: 'keys', outcome: 'failed' }, 1],
  ['upstream_request_duration_seconds_count', { service: 'keys' }, 2],
  ['key_fetches_total', { mount: 'auth/broken/', result: 'failed' }, 1],
  ['rate_limited_total', { quota: 'probe' }, 1],
  ['http_refused_total', { reason: 'size' }, 1],
  ['audit_device_up', { device: 'file/' }, 1],
])('%s %o is at least %i', (name, labels, value) => {
  expect(reading(name, labels as unknown as Record<string, string>)).toBeGreaterThanOrEqual(value)
})

test.each(['tokens', 'batch_tokens', 'identities', 'policies', 'login_roles'])(
  'reads of cached records are counted: %s',
  (cache) => {
    expect(reading('cache_requests_total', { cache, outcome: 'hit' })).toBeGreaterThanOrEqual(0)
    expect(reading('cache_requests_total', { cache, outcome: 'miss' })).toBeGreaterThanOrEqual(0)
  },
)

test('a cached token is a hit', () => {
  expect(reading('cache_requests_total', { cache: 'tokens', outcome: 'hit' })).toBeGreaterThan(10)
})

test('a due lease whose engine does not answer is late', async () => {
  await using late = await startUsedServer()
  const { root } = late.server
  const lease = String((await root.read('practice/creds/ci')).body['lease_id'])
  late.provider.mood = 'hanging'
  await root.write('sys/leases/revoke', { lease_id: lease, sync: false })
  await late.provider.deletions(3)
  late.clock.advance(40)

  const { series } = readScrape((await late.server.anonymous.read('/metrics')).text)

  expect(series.find(({ name }) => name === 'gatehouse_lease_expiry_lag_seconds')?.value).toBe(40)
})

const scrapeSize = async (paths: (operations: readonly string[]) => readonly string[]) => {
  await using server = await startTestServer({ settings: { METRICS: 'open' } })
  const document = (await server.root.read('sys/internal/specs/openapi')).body
  const operations = Object.entries(document['paths'] ?? {}).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((verb) => /^(?:get|post|patch|delete)$/.test(verb))
      .map((verb) => `${verb.toUpperCase()} ${item['servers'] === undefined ? '/v1' : ''}${path}`),
  )
  for (const operation of paths(operations)) {
    const [verb = '', path = ''] = operation.replaceAll(/\{\w+\}/g, 'x').split(' ')
    // refused, but counted
    await server.anonymous.call(verb, path)
  }
  return Buffer.byteLength((await server.anonymous.read('/metrics')).text)
}

test('a scrape after one call to each of 40 routes has at most 100 KB', async () => {
  expect(await scrapeSize((operations) => operations.slice(0, 40))).toBeLessThan(100_000)
})

test('a scrape after a call of every operation of the API document has at most 250 KB', async () => {
  expect(await scrapeSize((operations) => operations)).toBeLessThan(250_000)
})
