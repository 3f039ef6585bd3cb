import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { openAsNobody } from './pages.ts'

test('the explorer lists the operations of the API document', async () => {
  await using server = await startTestServer()
  await using explorer = await openAsNobody(`${server.url}/docs`)

  await explorer.page.locator('.opblock-tag').first().waitFor()

  expect(await explorer.page.locator('.info .title').textContent()).toContain('Gatehouse')
  expect(explorer.complaints).toEqual([])
  const elsewhere = explorer.requested.filter((request) => !request.startsWith(`${server.url}/docs`))
  expect(elsewhere).toEqual([])
})
