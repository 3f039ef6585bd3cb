import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { clientsOf, conformancePage, rowsPage, summaryOf, verdictOf } from './conformance/page.ts'
import { startRecorder } from './conformance/recorder.ts'
import { project, suites, versionOf } from './conformance/suites.ts'

const page = await readFile(join(project, 'docs/conformance.md'), 'utf8')

test('the recorder passes requests on, and shows those of each operation without what differs from run to run', async () => {
  await using server = await startTestServer()
  await using recorder = await startRecorder(server.url)
  const ask = (path: string, method = 'GET') =>
    fetch(recorder.url + path, { method, headers: { 'X-Vault-Token': 'root' } })

  await fetch(`${recorder.controlUrl}?operation=one`, { method: 'PUT' })
  const self = await ask('/v1/auth/token/lookup-self')
  await ask('/v1/sys/policies/acl?list=true')
  await fetch(`${recorder.controlUrl}?operation=two`, { method: 'PUT' })
  await ask('/v1/identity/entity/id/0a1b2c3d-0000-1111-2222-333344445555', 'DELETE')

  expect(self.status).toBe(200)
  expect(recorder.requestsOf('one')).toEqual(['GET auth/token/lookup-self', 'GET sys/policies/acl'])
  expect(recorder.requestsOf('two')).toEqual(['DELETE identity/entity/id/:id'])
})

test('an error is a difference, unless the server does not offer the feature', () => {
  expect(verdictOf(undefined)).toEqual({ verdict: 'same', reason: '' })
  expect(verdictOf('plugin not found in the catalog: pki')).toMatchObject({ verdict: 'unsupported' })
  expect(verdictOf('403 at http://127.0.0.1:4711/v1/x for hvs.AbC')).toEqual({
    verdict: 'differs',
    reason: '403 at URL/v1/x for TOKEN',
  })
})

test('the page counts the verdicts of a client and gives the reason for each difference', () => {
  const rows = [
    { operation: 'log in', requests: ['POST auth/jwt/login'], ...verdictOf(undefined) },
    { operation: 'read', requests: [], ...verdictOf('a|b') },
  ]
  const results = { client: 'curl', version: '8.0', rows }

  const page = conformancePage([summaryOf(results)])

  expect(page).toContain('| curl | 8.0 | 1 | 1 | 0 |')
  expect(page).toContain('| curl | read | a\\|b |')
  expect(page).not.toContain('log in')
  expect(rowsPage([results])).toContain('| log in | `POST auth/jwt/login` | same |  |')
})

test('the clients of a page are read back, so that the rows of those that are not run stay', () => {
  expect(conformancePage(clientsOf(page))).toBe(page)
  const rows = [
    { operation: 'a|b', requests: ['GET a', 'PUT b'], ...verdictOf('c | d') },
    { operation: 'e', requests: [], ...verdictOf(undefined) },
  ]
  const clients = [summaryOf({ client: 'two words (Go)', version: '1.0', rows })]
  expect(conformancePage(clientsOf(conformancePage(clients)))).toBe(conformancePage(clients))
})

test('the conformance page has the pinned version of each client, and no difference but by choice', async () => {
  const clients = clientsOf(page)
  const versions = await Promise.all(suites.map(async (suite) => [suite.client, await versionOf(suite)]))
  expect(clients.map(({ client, version }) => [client, version])).toEqual(versions)
  for (const { counts, differences } of clients) {
    expect(differences).toHaveLength(counts.differs)
    for (const { reason } of differences) expect(reason).toMatch(/^by choice: /)
  }
})
