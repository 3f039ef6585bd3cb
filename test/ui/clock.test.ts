import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { goTo, logIn, openPage } from './pages.ts'

const clock = new FakeClock()
let server: TestServer
const hour = 3_600_000
const later = (ms: number) => new Date(clock.now() + ms).toISOString()

beforeAll(async () => {
  server = await startTestServer({ clock })
  for (const [title, start, end] of [
    ['Shown', -hour, hour],
    ['Soon', hour, 2 * hour],
    ['Past', -2 * hour, -hour],
  ] as const)
    await server.root.write('sys/config/ui/custom-messages', {
      title,
      message: Buffer.from('Nothing').toString('base64'),
      authenticated: true,
      start_time: later(start),
      end_time: later(end),
    })
})
afterAll(() => server[Symbol.asyncDispose]())

/** The clock of the computer is so many milliseconds ahead; `window.skew` moves it. */
const wrongClock = (skew: number) => `
  window.skew = ${skew}
  const RightDate = Date
  window.Date = class extends RightDate {
    constructor(...given) { super(...(given.length === 0 ? [RightDate.now() + window.skew] : given)) }
    static now() { return RightDate.now() + window.skew }
  }`

test.each([
  { name: 'two hours fast', skew: 2 * hour },
  { name: 'two hours slow', skew: -2 * hour },
])(
  'a computer whose clock is $name shows how long a session, a token, a lease and a message last, and still does after it slept',
  async ({ skew }) => {
    const leases = async () =>
      [(await server.root.list('sys/leases/lookup/auth/token/create')).body.data?.keys].flat()
    const others = await leases()
    const { body } = await server.root.write('auth/token/create', { policies: ['root'], ttl: '299s' })
    const { client_token: token = '', accessor = '' } = body.auth ?? {}
    const [lease] = (await leases()).filter((id) => !others.includes(id))
    await using opened = await openPage('about:blank', { timezoneId: 'UTC' })
    const { page } = opened
    await page.addInitScript(wrongClock(skew))
    await page.goto(`${server.url}/ui/`)
    await logIn(page, String(token))

    const session = page.getByRole('banner').getByRole('timer')
    await session.getByText(/^The session ends in 4 min/).waitFor()
    const main = page.getByRole('main')
    await main.getByText(/^4 min.* \(/).waitFor()
    for (const [place, heading] of [
      [`access/tokens/${accessor}`, 'token'],
      [`leases/auth~token~create~${lease}`, 'Lease'],
    ] as const) {
      await goTo(page, place)
      await page.getByRole('heading', { name: heading, exact: true }).waitFor()
      await main.getByText(/^4 min.* \(/).waitFor()
    }
    await goTo(page, 'messages')
    for (const row of [/^Shown Active/, /^Soon Scheduled/, /^Past Expired/])
      await page.getByRole('row', { name: row }).waitFor()
    await goTo(page, 'messages/new')
    const starts = await page.getByLabel(/^Starts/).inputValue()
    expect(Math.abs(Date.parse(`${starts}Z`) - Date.now())).toBeLessThan(2 * 60_000)

    clock.advance(180)
    await page.evaluate('window.skew += 180_000')
    await session.getByText(/^The session ends in 1 min/).waitFor()
    clock.advance(300)
    await page.evaluate('window.skew += 300_000')
    await page.getByText('The token is no longer valid. Log in again.').waitFor()
  },
)
