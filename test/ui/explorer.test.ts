import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'
import { openPage } from './pages.ts'

test('the explorer lists the operations of the API document', async () => {
  await using server = await startTestServer()
  await using explorer = await openPage(`${server.url}/v1/sys/health`)
  const { page, complaints, requested } = explorer
  // the whole document takes the browser ten times as long as all else
  await page.route('**/docs/json', async (route) => {
    const response = await route.fetch()
    const document = await response.json()
    const paths = Object.fromEntries(Object.entries(document.paths).slice(0, 3))
    await route.fulfill({ response, json: { ...document, paths, components: {} } })
  })
  const before = requested.length

  await page.goto(`${server.url}/docs`)
  await page.locator('.opblock-tag').first().waitFor()

  expect(await page.locator('.info .title').textContent()).toContain('Gatehouse')
  expect(complaints).toEqual([])
  const elsewhere = requested.slice(before).filter((request) => !request.startsWith(`${server.url}/docs`))
  expect(elsewhere).toEqual([])
})
