import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { samplePassword } from '../../simulators/sample/people.ts'
import { startSample } from '../../simulators/sample/sample.ts'
import { launch } from '../browser/launch.ts'
import { type Picture, pictures, places } from './pictures.ts'

/**
 * `npm run screenshots`: takes the pictures of the documentation, and every view at each width, in light and dark, into
 * `out/screenshots`, from the sample of `npm run demo`. `npm run screenshots -- system` takes those of the places whose
 * name contains it.
 */
const root = join(import.meta.dirname, '../..')
const ofDocs = join(root, 'docs/images')
const ofViews = join(root, 'out/screenshots')

const widths = [360, 768, 1440]
const colorSchemes = ['light', 'dark'] as const

async function logIn(page: Page, person: string): Promise<void> {
  await page.getByRole('tab', { name: 'Name and password' }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(person)
  await page.getByRole('textbox', { name: 'Password' }).fill(samplePassword)
  await page.getByRole('button', { name: 'Log in' }).click()
  if (person === 'ada') await page.getByRole('button', { name: 'I have read this' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

const contextOf = (browser: Browser, viewport: { width: number; height: number }): Promise<BrowserContext> =>
  browser.newContext({ viewport, locale: 'en-GB', timezoneId: 'Europe/Berlin' })

async function take(browser: Browser, url: string, picture: Picture): Promise<void> {
  const { file, person, place = '', colorScheme = 'light', height = 800, isNew = false, prepare } = picture
  const context = await contextOf(browser, { width: 1280, height })
  const page = await context.newPage()
  await page.emulateMedia({ colorScheme })
  await page.goto(`${url}/ui/#${place}`)
  await page.getByText('Maintenance on Saturday').waitFor()
  if (person !== undefined) {
    await logIn(page, person)
    if (!isNew) await page.getByRole('button', { name: /^Close Reader tokens/ }).click()
  }
  await prepare?.(page)
  await page.screenshot({ path: join(ofDocs, `${file}.png`), animations: 'disabled' })
  await context.close()
}

/** Every place at every width, in light and dark: what is on the page when nothing more arrives. */
async function takeAll(browser: Browser, url: string, wanted: string): Promise<void> {
  await mkdir(ofViews, { recursive: true })
  const context = await contextOf(browser, { width: 1440, height: 900 })
  const page = await context.newPage()
  await page.goto(`${url}/ui/`)
  await page.getByRole('tab').first().waitFor()
  if ('login'.includes(wanted)) await takeSizes(page, 'login')
  await logIn(page, 'olga')
  await page.getByRole('button', { name: /^Close Reader tokens/ }).click()
  for (const place of places.filter((one) => one.includes(wanted))) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`)
    await settled(page)
    await takeSizes(page, place.replaceAll(/[/~?=&]+/g, '-'))
  }
  await context.close()
}

/** Nothing has arrived for a while. */
async function settled(page: Page): Promise<void> {
  const quietMs = 500
  for (let isQuiet = false; !isQuiet; )
    isQuiet = await page
      .waitForResponse(() => true, { timeout: quietMs })
      .then(
        () => false,
        () => true,
      )
}

async function takeSizes(page: Page, name: string): Promise<void> {
  for (const width of widths)
    for (const colorScheme of colorSchemes) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.evaluate('new Promise((done) => setTimeout(done, 100))')
      const path = join(ofViews, `${name}-${width}-${colorScheme}.png`)
      await page.screenshot({ path, animations: 'disabled', fullPage: true })
    }
  process.stdout.write(`${name}\n`)
}

await using sample = await startSample()
const browser = await launch()
const [wanted] = process.argv.slice(2)
if (wanted === undefined) for (const picture of pictures) await take(browser, sample.url, picture)
await takeAll(browser, sample.url, wanted ?? '')
await browser.close()
