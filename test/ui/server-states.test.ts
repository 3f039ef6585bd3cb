import { expect, test } from 'vitest'
import { freePort } from '../../simulators/free-port.ts'
import { StartedProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectAccessible, pagesOfFile } from './pages.ts'

const openPage = pagesOfFile()

test('the page of a server without data, and of a sealed one, says what the operator does next, and goes on by itself', async () => {
  await using server = await startTestServer({ dev: false, settings: { SEAL: 'shamir' } })
  await using opened = await openPage(`${server.url}/ui/`)
  const { page, complaints } = opened
  await page.clock.install()
  const uninitialized = page.getByRole('status').filter({ hasText: 'The server is not initialized' })
  await uninitialized.getByText('vault operator init').waitFor()
  await expectAccessible(page)

  const { body } = await server.anonymous.write('sys/init', { secret_shares: 1, secret_threshold: 1 })
  const next = async () => page.clock.fastForward(6000)
  await next()
  await page.getByText('The server is sealed').waitFor()
  // the client types no body that is not in the usual envelope
  const [key] = (body as unknown as { keys: string[] }).keys
  await server.anonymous.write('sys/unseal', { key })
  await next()
  await page.getByRole('tab', { name: 'Token' }).waitFor()

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
