import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { freePort } from '../../simulators/free-port.ts'
import { StartedProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectAccessible, logIn, openPage } from './pages.ts'

test('a server without data is initialized and unsealed in the browser, and its keys are shown once', async () => {
  await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })
  await using opened = await openPage(`${server.url}/ui/`)
  const { page, complaints } = opened
  await page.clock.install()
  await page.getByRole('status').getByText('vault operator init').waitFor()
  await expectAccessible(page)
  await page.getByRole('spinbutton', { name: 'Shares', exact: true }).fill('2')
  await page.getByRole('button', { name: 'Initialize' }).click()
  await page.getByText('threshold cannot be larger than shares').waitFor()
  await page.getByRole('spinbutton', { name: 'Shares needed' }).fill('2')
  await page.getByRole('button', { name: 'Initialize' }).click()

  const made = page.getByRole('region', { name: 'Keys of the new store' })
  await made.getByText('Share 2').waitFor()
  const goOn = made.getByRole('button', { name: 'Continue' })
  expect(await goOn.isDisabled()).toBe(true)
  // the server is asked meanwhile, and its answer takes nothing away
  await page.clock.fastForward(6000)
  await expectAccessible(page)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    made.getByRole('link', { name: 'Download all as a file' }).click(),
  ])
  const { keys, root_token } = JSON.parse(await text(await download.createReadStream()))
  await made.getByRole('checkbox').check()
  await goOn.click()

  const share = page.getByRole('textbox', { name: 'Share of the unseal key' })
  const give = async (typed: string, progress: string) => {
    await share.fill(typed)
    await page.getByRole('button', { name: 'Give this share' }).click()
    await page.getByText(progress).waitFor()
  }
  await page.getByText('0 of 2 shares given').waitFor()
  expect(await page.getByText(root_token).count()).toBe(0)
  await give(keys[0], '1 of 2 shares given')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Start over' }).click()
  await page.getByText('0 of 2 shares given').waitFor()
  await give('00'.repeat(33), '1 of 2 shares given')
  await give(keys[0], 'unable to retrieve stored keys')
  // another keeper may use another page
  await server.anonymous.write('sys/unseal', { key: keys[0] })
  await page.clock.fastForward(6000)
  await page.getByText('1 of 2 shares given').waitFor()
  await share.fill(keys[1])
  await page.getByRole('button', { name: 'Give this share' }).click()
  await logIn(page, root_token)

  await page.goto(`${server.url}/ui/#/system/server`)
  await page.getByText('2 of 2 shares unseal it').waitFor()
  await page.getByRole('button', { name: 'Seal' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Seal' }).click()
  await page.getByText('0 of 2 shares given').waitFor()
  expect(complaints).toEqual([])
})

test('the page of a server whose storage does not respond says so', async () => {
  await using folder = await temporaryFolder()
  const port = await freePort()
  const server = new StartedProcess('src/process/main.ts', {
    folder: folder.path,
    settings: {
      LISTEN: `127.0.0.1:${port}`,
      STORAGE: `postgres://nobody@127.0.0.1:${await freePort()}/none`,
    },
  })
  await server.logged('storage_lost')
  await using opened = await openPage(`http://127.0.0.1:${port}/ui/`)

  await opened.page.getByText('The storage does not respond').waitFor()
  await expectAccessible(opened.page)

  expect(opened.complaints).toEqual([])
  await server.end('SIGKILL')
})
