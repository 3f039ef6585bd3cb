import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, expect } from 'vitest'
import { openedBrowser } from '../browser/browser.ts'

export type UiPage = AsyncDisposable & {
  readonly page: Page
  /** What must never happen: errors of scripts, and what the content security policy refused. */
  readonly complaints: readonly string[]
  /** Every address that the page has requested. */
  readonly requested: readonly string[]
}

const viewport = { width: 1280, height: 720 }

async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  // what fades in is drawn many times
  const context = await (await openedBrowser()).newContext({ viewport, reducedMotion: 'reduce', ...options })
  return context.newPage()
}

/** Opens a page with a profile of its own. */
export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<UiPage> {
  const page = await newPage(options)
  const watched = watch(page)
  await page.goto(url)
  return { ...watched, [Symbol.asyncDispose]: () => page.context().close() }
}

type Watched = Pick<UiPage, 'page' | 'complaints' | 'requested'>

function watch(page: Page): Watched {
  const complaints: string[] = []
  const requested: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // a refused call is logged by the browser itself
    if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text())
  })
  page.on('request', (request) => requested.push(`${request.url()} ${request.headers()['referer'] ?? ''}`))
  return { page, complaints, requested }
}

/** The tab of this process, while no test uses it. */
let free: Page | undefined

/** Opens a page of somebody who has logged in with a token, as a reload does: the token is in the tab. */
export async function openAs(url: string, token: string): Promise<UiPage> {
  const opened = await openTab(url, `sessionStorage.setItem('gatehouse.token', ${JSON.stringify(token)})`)
  await opened.page.getByRole('navigation', { name: 'Main' }).waitFor()
  return opened
}

/** Opens a page of somebody who has not logged in. */
export const openAsNobody = (url: string): Promise<UiPage> => openTab(url, '')

/**
 * The pages of a process are in one tab, in which nothing of the one before is left: a new profile takes longer than
 * a short test.
 */
async function openTab(url: string, prepare: string): Promise<UiPage> {
  const page = free ?? (await newPage())
  free = undefined
  // a page of the same origin, in which nothing runs
  const quiet = new URL('/v1/sys/health', url).href
  if (page.url() !== quiet) await page.goto(quiet)
  await page.evaluate(`localStorage.clear(); sessionStorage.clear(); ${prepare}`)
  const watched = watch(page)
  await page.goto(url)
  return { ...watched, [Symbol.asyncDispose]: () => giveBack(page, quiet) }
}

async function giveBack(page: Page, quiet: string): Promise<void> {
  page.removeAllListeners()
  if (free !== undefined) return page.context().close()
  await page.unrouteAll()
  await page.goto(quiet)
  await page.context().clearCookies()
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(viewport)
  free = page
}

/**
 * Leads to another view of the page, which costs a tenth of a page that is opened. The old view is there for a moment:
 * wait for what only the new one has.
 */
export const goTo = (page: Page, place: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`)

/**
 * One page for the tests of a file. Each begins at its own place, after nothing of the former test is shown. A failed
 * test may leave a dialog or a form: the next one gets a new page. A test that ends with something unsaved, or routes
 * calls, opens a page of its own. Such tests come first in a file: then one tab is enough.
 */
export function sharedPage(url: () => string, token = 'root'): (place: string) => Promise<UiPage> {
  let opened: UiPage | undefined
  const close = async (): Promise<void> => {
    await opened?.[Symbol.asyncDispose]()
    opened = undefined
  }
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await close()
  })
  afterAll(close)
  return async (place) => {
    if (opened === undefined) {
      opened = await openAs(`${url()}/ui/#/${place}`, token)
      return opened
    }
    await goTo(opened.page, 'nowhere')
    await opened.page.getByText('There is no such place').waitFor()
    await goTo(opened.page, place)
    return opened
  }
}

/** Logs in at the tab for tokens. */
export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByRole('tab', { name: 'Token' }).click()
  await page.getByRole('textbox', { name: 'Token' }).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] }

const axe = readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** What axe looks at. A color scheme changes nothing but colors. */
const rulesOf = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } }

/** The browser compiles a script only once for all pages, unlike what `page.evaluate` passes to `eval`. */
async function loadAxe(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Runtime.evaluate', { expression: await axe })
  await devtools.detach()
}

/** axe finds nothing, in light and in dark. */
export async function expectAccessible(page: Page): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await loadAxe(page)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const options = JSON.stringify({ ...rulesOf[colorScheme], reporter: 'no-passes' })
    const violations = await page.evaluate<Violation[]>(
      `axe.run(${options}).then(({ violations }) => violations)`,
    )
    const found = violations.map(({ id, nodes }) => ({ id, at: nodes.map(({ html }) => html) }))
    expect({ colorScheme, found }).toEqual({ colorScheme, found: [] })
  }
}
