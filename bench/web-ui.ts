import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { launch } from '../test/browser/launch.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillLeases } from './fill-leases.ts'
import { median } from './measure.ts'
import { verdict } from './table.ts'

const loads = 9
const listed = 10_000
const openings = 5
const lists = [
  { name: 'secrets', address: '#/secrets/team~/' },
  { name: 'roles', address: '#/logins/jwt/roles' },
  { name: 'leases', address: '#/leases/practice~creds~ci~' },
]
const atOnce = 50

/** How soon the web UI can be used, how it shows long lists, and what an open page costs an idle server. */
export async function measureWebUi({ idleSeconds }: { idleSeconds: number }): Promise<string> {
  await using folder = await makeBenchFolder()
  const browser = await launch()
  try {
    const lines = await measureLoads(browser, folder.path)
    await using server = await startFilled(folder.path)
    for (const list of lists) lines.push(await measureList(browser, server, list))
    lines.push(...(await measureSlowLine(browser, server)))
    lines.push(await measureIdle(await logIn(browser, server), idleSeconds))
    return lines.join('\n')
  } finally {
    await browser.close()
  }
}

/** Notes when the first tab of the login page is painted, in milliseconds from the start of the navigation. */
const noteUsable = `window.usableMs = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector('[role=tab]') === null) return
    observer.disconnect()
    requestAnimationFrame(() => resolve(performance.now()))
  }).observe(document, { subtree: true, childList: true })
})`

async function measureLoads(browser: Browser, folder: string): Promise<string[]> {
  await using server = await startServerProcess({ folder })
  const { url } = server
  const cold: number[] = []
  const warm: number[] = []
  let bytes = 0
  for (let load = 0; load < loads; load += 1) {
    // each context has an empty cache
    const context = await browser.newContext()
    await context.addInitScript(noteUsable)
    const page = await context.newPage()
    await page.goto(`${url}/ui/`)
    cold.push(await usableMs(page))
    bytes = await loadedBytes(page)
    await page.reload()
    await usableMs(page)
    await page.reload()
    warm.push(await usableMs(page))
    await context.close()
  }
  const [coldMs, warmMs] = [median(cold), median(warm)]
  return [
    `first load: ${(bytes / 1024).toFixed(1)} KiB compressed (${verdict(bytes <= 130 * 1024, '≤ 130 KiB')})`,
    `usable, empty cache: ${shown(coldMs)} (${verdict(coldMs <= 300, '≤ 300 ms')})`,
    `usable, again: ${shown(warmMs)} (${verdict(warmMs <= 100, '≤ 100 ms')})`,
  ]
}

const usableMs = async (page: Page): Promise<number> => Number(await page.evaluate('window.usableMs'))

/** The bodies of all files of the UI, as they were sent. */
const loadedBytes = async (page: Page): Promise<number> =>
  Number(
    await page.evaluate(`performance.getEntries()
      .filter(({ entryType, name }) => entryType === 'navigation' || (entryType === 'resource' && name.includes('/ui/')))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`),
  )

/** A server with as many roles, as many secrets in a folder, and as many leases of an engine. */
async function startFilled(folder: string): Promise<ServerProcess> {
  const launch = () =>
    startServerProcess({ folder, entry: join(import.meta.dirname, '../test/support/practice-server.ts') })
  const first = await launch()
  const { url, rootToken: token } = first
  const post = (path: string, body: object) => sendSuccessfully(url, { method: 'POST', path, token, body })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['gatehouse'] }
  await post('sys/mounts/team', { type: 'kv-v2' })
  for (let done = 0; done < listed; done += atOnce)
    await Promise.all(
      Array.from({ length: atOnce }, async (_, at) => {
        const number = String(done + at).padStart(5, '0')
        await post(`auth/jwt/role/role-${number}`, role)
        await post(`team/data/secret-${number}`, { data: {} })
      }),
    )
  await post('sys/mounts/practice', { type: 'practice' })
  const { body } = await sendSuccessfully(url, { method: 'GET', path: 'sys/mounts/practice', token })
  await first.stop()
  await fillLeases({
    folder,
    mountAccessor: String(body?.['accessor']),
    later: listed,
    together: { count: 0, at: Date.now },
    onProgress: () => {},
  })
  return launch()
}

async function logIn(browser: Browser, server: ServerProcess): Promise<Page> {
  const context: BrowserContext = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${server.url}/ui/`)
  return enter(page, server)
}

async function enter(page: Page, { rootToken }: ServerProcess): Promise<Page> {
  await page.getByRole('tab', { name: 'Token' }).click()
  await page.getByRole('textbox', { name: 'Token' }).fill(rootToken)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()
  return page
}

/** Of a table or a list. */
const rows = `'.table-body [role=row], .list > li'`

/** Opens a view by its address, as a link does, and waits for its rows to be painted. */
const open = (address: string) => `new Promise((resolve) => {
  const began = performance.now()
  location.hash = ${JSON.stringify(address)}
  const look = () => {
    if (document.querySelector(${rows}) === null) requestAnimationFrame(look)
    else requestAnimationFrame(() => resolve(performance.now() - began))
  }
  look()
})`

/** Scrolls from the top to the end within a second. Tells the longest frame, and the most rows at a time. */
const scroll = `new Promise((resolve) => {
  const list = document.querySelector('.table-scroller')
  const began = performance.now()
  let [before, longest, most] = [began, 0, 0]
  const step = (now) => {
    longest = Math.max(longest, now - before)
    before = now
    most = Math.max(most, document.querySelectorAll(${rows}).length)
    const part = Math.min(1, (now - began) / 1000)
    list.scrollTop = part * (list.scrollHeight - list.clientHeight)
    if (part < 1) requestAnimationFrame(step)
    else requestAnimationFrame(() => resolve([longest, most]))
  }
  requestAnimationFrame(step)
})`

async function measureList(
  browser: Browser,
  server: ServerProcess,
  { name, address }: { readonly name: string; readonly address: string },
): Promise<string> {
  const ms: number[] = []
  let scrolled: readonly number[] = []
  // each page loads the code of the view for the first time
  for (let round = 0; round < openings; round += 1) {
    const page = await logIn(browser, server)
    ms.push(Number(await page.evaluate(open(address))))
    // the page returns this pair
    scrolled = (await page.evaluate(scroll)) as number[]
    await page.context().close()
  }
  const [longest = 0, most = 0] = scrolled
  return (
    `${listed.toLocaleString('en')} ${name}: open in ${shown(median(ms))} (${verdict(median(ms) <= 300, '≤ 300 ms')}); ` +
    `scrolled with at most ${most} rows in the document (${verdict(most <= 100, '≤ 100')}), ` +
    `longest frame ${shown(longest)}`
  )
}

const slowBytesPerSecond = 25_000

/** Opens a view by its address. Tells when something of it, or its skeleton, is shown, when all of it is, and its bytes. */
const openOnSlowLine = (address: string) => `new Promise((resolve) => {
  const began = performance.now()
  const before = document.title
  let shown
  location.hash = ${JSON.stringify(address)}
  const look = () => {
    const now = performance.now() - began
    const isLoading = document.querySelector('main .skeleton') !== null
    const isNew = document.title !== before
    if (isLoading || isNew) shown ??= now
    if (isLoading || !isNew) return requestAnimationFrame(look)
    const loaded = performance.getEntriesByType('resource').filter(({ startTime }) => startTime >= began)
    resolve([shown, now, loaded.reduce((sum, { transferSize }) => sum + transferSize, 0)])
  }
  requestAnimationFrame(look)
})`

/** The page as a person sees it, and when, on a line of 25 kB/s with an empty cache. */
async function measureSlowLine(browser: Browser, server: ServerProcess): Promise<string[]> {
  const context = await browser.newContext()
  await context.addInitScript(noteUsable)
  const page = await context.newPage()
  const line = await context.newCDPSession(page)
  await line.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: slowBytesPerSecond,
    uploadThroughput: slowBytesPerSecond,
  })
  await page.goto(`${server.url}/ui/`)
  const usable = await usableMs(page)
  const painted = Number(await page.evaluate(`performance.getEntriesByName('first-paint')[0].startTime`))
  const lines = [
    `at 25 kB/s: skeleton after ${shown(painted)} (${verdict(painted <= 1000, '≤ 1000 ms')}), login page after ` +
      `${shown(usable)}, of which its bytes need ${shown(neededMs(await loadedBytes(page)))}`,
  ]
  await enter(page, server)
  await page.waitForFunction("document.querySelector('main .skeleton') === null")
  // the first is the view that is open
  const [, ...addresses] = (await page.evaluate(
    "[...document.querySelectorAll('#navigation a')].map(({ hash }) => hash)",
  )) as string[]
  for (const address of addresses) {
    const [first = 0, last = 0, bytes = 0] = (await page.evaluate(openOnSlowLine(address))) as number[]
    const beyond = last - neededMs(bytes)
    lines.push(
      `at 25 kB/s, ${address}: skeleton or more after ${shown(first)} (${verdict(first <= 1000, '≤ 1000 ms')}), ` +
        `all after ${shown(last)}, ${shown(beyond)} beyond what its bytes need (${verdict(beyond <= 1000, '≤ 1000 ms')})`,
    )
  }
  await context.close()
  return lines
}

const neededMs = (bytes: number): number => (bytes * 1000) / slowBytesPerSecond

/** Requests that a page sends that nobody touches. */
async function measureIdle(page: Page, seconds: number): Promise<string> {
  let requests = 0
  await page.waitForTimeout(2000)
  page.on('request', () => {
    requests += 1
  })
  await page.waitForTimeout(seconds * 1000)
  const perMinute = (requests * 60) / seconds
  return `an open page: ${perMinute.toFixed(2)} requests per minute in ${seconds} s (${verdict(perMinute <= 1, '≤ 1')})`
}

const shown = (ms: number): string => `${Math.round(ms)} ms`
