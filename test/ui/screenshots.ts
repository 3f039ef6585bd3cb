import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { samplePassword } from '../../simulators/sample/people.ts'
import { startSample } from '../../simulators/sample/sample.ts'
import { launch } from '../browser/launch.ts'
import { startTestServer } from '../support/start-server.ts'
import { type Picture, pictures, places } from './pictures.ts'
import { type State, states } from './states.ts'

/**
 * `npm run screenshots`: takes the pictures of the documentation, and every view at each width, in light and dark, into
 * `out/screenshots`, from the sample of `npm run demo`, then those of a server that is initialized in the browser.
 * `npm run screenshots -- system` takes those of the places and states whose name contains it.
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
}

async function enter(page: Page, person: string): Promise<void> {
  await logIn(page, person)
  if (person === 'ada') await page.getByRole('button', { name: 'I have read this' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

const closeBanner = (page: Page): Promise<void> =>
  page.getByRole('button', { name: /^Close Reader tokens/ }).click()

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
    await enter(page, person)
    if (!isNew) await closeBanner(page)
  }
  await prepare?.(page)
  await page.mouse.move(0, 0)
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
  await enter(page, 'olga')
  if ('banner'.includes(wanted)) await takeSizes(page, 'banner')
  await closeBanner(page)
  for (const place of places.filter((one) => one.includes(wanted))) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`)
    await settled(page)
    await takeSizes(page, place.replaceAll(/[/~?=&]+/g, '-'))
  }
  await context.close()
}

async function takeStates(browser: Browser, url: string, wanted: string): Promise<void> {
  if ('dialog'.includes(wanted)) await takeModal(browser, url)
  for (const state of states.filter(({ name }) => name.includes(wanted))) await takeState(browser, url, state)
}

async function takeState(browser: Browser, url: string, state: State): Promise<void> {
  const { name, person, place = '', prepare } = state
  const context = await contextOf(browser, { width: 1440, height: 900 })
  const page = await context.newPage()
  await page.goto(`${url}/ui/#/${place}`)
  await page.getByRole('tab').first().waitFor()
  if (person !== undefined) {
    await enter(page, person)
    await closeBanner(page)
  }
  await prepare(page)
  await settled(page)
  await takeSizes(page, name)
  await context.close()
}

/** The message that must be read first. */
async function takeModal(browser: Browser, url: string): Promise<void> {
  const context = await contextOf(browser, { width: 1440, height: 900 })
  const page = await context.newPage()
  await page.goto(`${url}/ui/`)
  await logIn(page, 'ada')
  await page.getByRole('button', { name: 'I have read this' }).waitFor()
  await takeSizes(page, 'dialog')
  await context.close()
}

/** A server whose keys are in the hands of people, from its first moment to the first steps of its operator. */
async function takeFirstDay(browser: Browser): Promise<void> {
  await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })
  const context = await contextOf(browser, { width: 1440, height: 900 })
  const page = await context.newPage()
  await page.goto(`${server.url}/ui/`)
  const initialize = page.getByRole('button', { name: 'Initialize' })
  await initialize.waitFor()
  await takeSizes(page, 'initialize')
  const [answer] = await Promise.all([page.waitForResponse(/sys\/init$/), initialize.click()])
  await page.getByText('Share 2').waitFor()
  await takeSizes(page, 'new-keys')
  const { keys, root_token: token } = await answer.json()
  await page.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Continue' }).click()
  for (const [at, key] of keys.slice(0, 3).entries()) {
    await page.getByRole('textbox', { name: 'Share of the unseal key' }).fill(key)
    await page.getByRole('button', { name: 'Give this share' }).click()
    if (at > 0) continue
    await page.getByText('1 of 3 shares given').waitFor()
    await takeSizes(page, 'sealed')
  }
  await page.getByRole('textbox', { name: 'Token' }).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('group').first().locator('summary').click()
  await takeSizes(page, 'first-steps')
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
  await page.mouse.move(0, 0)
  const isOpen = (await page.locator('.overlay, .popover').count()) > 0
  for (const width of widths)
    for (const colorScheme of colorSchemes) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.evaluate('new Promise((done) => setTimeout(done, 100))')
      const path = join(ofViews, `${name}-${width}-${colorScheme}.png`)
      await page.screenshot({ path, animations: 'disabled', fullPage: !isOpen })
    }
  process.stdout.write(`${name}\n`)
}

await using sample = await startSample()
const browser = await launch()
const [wanted] = process.argv.slice(2)
if (wanted === undefined) for (const picture of pictures) await take(browser, sample.url, picture)
await takeAll(browser, sample.url, wanted ?? '')
await takeStates(browser, sample.url, wanted ?? '')
if (wanted === undefined || 'first'.includes(wanted)) await takeFirstDay(browser)
await browser.close()
