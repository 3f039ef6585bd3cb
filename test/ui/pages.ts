import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
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

async function openPage(browser: Browser, url: string, options: BrowserContextOptions): Promise<UiPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const complaints: string[] = []
  const requested: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // a refused call is logged by the browser itself
    if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text())
  })
  page.on('request', (request) => requested.push(`${request.url()} ${request.headers()['referer'] ?? ''}`))
  await page.goto(url)
  return { page, complaints, requested, [Symbol.asyncDispose]: () => context.close() }
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
  await page.evaluate(axe.source)
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
