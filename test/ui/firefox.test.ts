import { existsSync } from 'node:fs'
import puppeteer from 'puppeteer-core'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'

/** Debian's; the driver of the other tests knows only builds of its own. */
const executablePath = '/usr/bin/firefox-esr'

test('Firefox logs in, shows a secret and logs out', async ({ skip }) => {
  skip(!existsSync(executablePath), 'needs Firefox: apt-get install firefox-esr')
  await using server = await startTestServer()
  await server.root.write('secret/data/shop', { data: { password: 's3cret' } })
  await using opened = new AsyncDisposableStack()
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath })
  opened.defer(() => browser.close())
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => complaints.push(message.text()))
  await page.goto(`${server.url}/ui/#/secrets/secret~/shop`)
  await page.locator('aria/Token[role="tab"]').click()
  await page.locator('input[name=token]').fill('root')
  await page.locator('aria/Log in[role="button"]').click()
  await page.locator('aria/Show password[role="button"]').click()

  await page.waitForFunction(`document.querySelector('main').innerText.includes('s3cret')`)
  await page.locator('aria/Log out[role="button"]').click()
  await page.locator('aria/Log in[role="heading"]').wait()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
  expect(complaints).toEqual([])
})
