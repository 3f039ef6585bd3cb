import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import { openedBrowser } from '../browser/browser.ts'

export type UiPage = AsyncDisposable & {
  readonly page: Page
  /** What must never happen: errors of scripts, and what the content security policy refused. */
  readonly complaints: readonly string[]
  /** Every address that the page has requested. */
  readonly requested: readonly string[]
}

/** Opens pages, each with a profile of its own. */
export const pagesOfFile =
  () =>
  async (url: string, options: BrowserContextOptions = {}): Promise<UiPage> =>
    openPage(await openedBrowser(), url, options)

/** Opens a page with a profile of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions,
): Promise<UiPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const watched = watch(page)
  await page.goto(url)
  return { ...watched, [Symbol.asyncDispose]: () => context.close() }
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

/**
 * Opens pages of people who are logged in with a token. The first of a file logs in itself. Later ones find the tab
 * with the token in it, as a page that is reloaded does: a new profile and a login take most of a short test.
 */
export function sessionsOfFile(): (url: string, token: string) => Promise<UiPage> {
  let tab: UiPage | undefined
  let isTaken = false
  afterAll(() => tab?.[Symbol.asyncDispose]())
  return async (url, token) => {
    if (isTaken) return firstSession(url, token)
    isTaken = true
    const watched = tab === undefined ? undefined : await nextSession(tab.page, url, token)
    tab ??= await firstSession(url, token)
    const { page } = tab
    return {
      ...(watched ?? tab),
      [Symbol.asyncDispose]: async () => {
        page.removeAllListeners()
        isTaken = false
      },
    }
  }
}

async function firstSession(url: string, token: string): Promise<UiPage> {
  const opened = await openPage(await openedBrowser(), url, {})
  await logIn(opened.page, token)
  return opened
}

/** Nothing of whoever used the tab before is left. */
async function nextSession(page: Page, url: string, token: string): Promise<Watched> {
  await page.emulateMedia({ colorScheme: 'light' })
  // the page itself does not notice its new address, which may differ in its fragment only, so that it is loaded anew
  await page.evaluate(`localStorage.clear(); sessionStorage.clear()
    sessionStorage.setItem('gatehouse.token', ${JSON.stringify(token)})
    History.prototype.replaceState.call(history, null, '', ${JSON.stringify(url)})`)
  const watched = watch(page)
  await page.reload()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  return watched
}

/** Logs in at the tab for tokens. */
export async function logIn(page: Page, token: string): Promise<void> {
  await page.getByRole('tab', { name: 'Token' }).click()
  await page.getByRole('textbox', { name: 'Token' }).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] }

/** What axe looks at. A color scheme changes nothing but colors. */
const rulesOf = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } }

/** axe finds nothing, in light and in dark. */
export async function expectAccessible(page: Page): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const options = JSON.stringify(rulesOf[colorScheme])
    const violations = await page.evaluate<Violation[]>(
      `axe.run(${options}).then(({ violations }) => violations)`,
    )
    const found = violations.map(({ id, nodes }) => ({ id, at: nodes.map(({ html }) => html) }))
    expect({ colorScheme, found }).toEqual({ colorScheme, found: [] })
  }
}
