import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { samplePassword } from '../../simulators/sample/people.ts'
import { startSample } from '../../simulators/sample/sample.ts'
import { launch } from '../browser/launch.ts'

/** `npm run screenshots`: writes the pictures of the documentation, taken from the sample of `npm run demo`. */
const folder = join(import.meta.dirname, '../../docs/images')

type Picture = {
  readonly file: string
  /** Nobody: the login page. */
  readonly person?: string
  readonly place?: string
  readonly colorScheme?: 'dark'
  readonly height?: number
  /** Keeps the banner that everyone sees after the login. */
  readonly isNew?: boolean
  readonly prepare?: (page: Page) => Promise<unknown>
}

const pictures: readonly Picture[] = [
  { file: 'ui-login', prepare: (page) => page.getByRole('tab').first().waitFor() },
  {
    file: 'ui-home',
    person: 'ada',
    place: '/home',
    isNew: true,
    prepare: (page) => page.getByText('shop-team').waitFor(),
  },
  {
    file: 'ui-secret',
    person: 'ada',
    place: '/secrets/team~/shop~database',
    prepare: (page) => page.getByText('Versions', { exact: true }).waitFor(),
  },
  {
    file: 'ui-credentials',
    person: 'ada',
    place: '/cloud/cloud/roles/shop',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Get credentials' }).click()
      await page.getByRole('button', { name: 'Revoke' }).waitFor()
    },
  },
  { file: 'ui-explain', person: 'olga', place: '/logins/jwt/failures', height: 1090, prepare: pickFailure },
  {
    file: 'ui-explain-dark',
    person: 'olga',
    place: '/logins/jwt/failures',
    colorScheme: 'dark',
    height: 1090,
    prepare: pickFailure,
  },
  {
    file: 'ui-messages',
    person: 'olga',
    place: '/messages',
    prepare: (page) => page.getByText('Timeline').first().waitFor(),
  },
  { file: 'ui-message-editor', person: 'olga', place: '/messages', prepare: writeMessage },
  {
    file: 'ui-root-credential',
    person: 'olga',
    place: '/cloud/cloud/config',
    prepare: (page) => page.getByText('The root credential has what it needs').waitFor(),
  },
]

async function pickFailure(page: Page): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: 'audience_mismatch' })
  await row.getByRole('link').click()
  await page.getByRole('heading', { name: /^Refused/ }).waitFor()
}

async function writeMessage(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Maintenance on Saturday' }).click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('region', { name: 'Preview' }).waitFor()
}

async function take(browser: Browser, url: string, picture: Picture): Promise<void> {
  const { file, person, place = '', colorScheme = 'light', height = 800, isNew = false, prepare } = picture
  const context = await browser.newContext({
    viewport: { width: 1280, height },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  })
  const page = await context.newPage()
  await page.goto(`${url}/ui/#${place}`)
  await page.getByText('Maintenance on Saturday').waitFor()
  if (person !== undefined) {
    await page.getByRole('tab', { name: 'Name and password' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(person)
    await page.getByRole('textbox', { name: 'Password' }).fill(samplePassword)
    await page.getByRole('button', { name: 'Log in' }).click()
    if (person === 'ada') await page.getByRole('button', { name: 'I have read this' }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    if (!isNew) await page.getByRole('button', { name: /^Close Reader tokens/ }).click()
  }
  await prepare?.(page)
  await page.screenshot({ path: join(folder, `${file}.png`), animations: 'disabled' })
  await context.close()
}

await using sample = await startSample()
const browser = await launch()
for (const picture of pictures) {
  await take(browser, sample.url, picture)
  process.stdout.write(`${picture.file}.png\n`)
}
await browser.close()
