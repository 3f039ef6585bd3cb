import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs } from './pages.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/policies/acl/dice', {
    policy: 'path "sys/tools/random" { capabilities = ["update"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const tokenOf = async (policy: string): Promise<string> => {
  const made = await server.root.write('auth/token/create', { policies: [policy] })
  return String(made.body.auth?.client_token)
}

async function open(token: string) {
  return openAs(`${server.url}/ui/#/tools`, token)
}

test('an operator wraps data, looks the wrapping token up, unwraps it once, gets random bytes, and the hash of a text', async () => {
  await using opened = await open(await tokenOf('root'))
  const { page, complaints, requested } = opened
  const tool = (name: string) => page.getByRole('region', { name, exact: true })
  await tool('Wrap').getByRole('textbox', { name: 'Data' }).fill('{"password": "s3cret", "n": 1.50}')
  await tool('Wrap').getByRole('textbox', { name: 'Valid for' }).fill('5m')
  await tool('Wrap').getByRole('button', { name: 'Wrap' }).click()
  await tool('Wrap').getByRole('button', { name: 'Show Wrapping token' }).click()
  const token = await tool('Wrap')
    .getByText(/^hvs\./)
    .textContent()
  await tool('Wrap').getByText('5 min').waitFor()

  await tool('Look up').getByRole('textbox', { name: 'Token to look up' }).fill(String(token))
  await tool('Look up').getByRole('button', { name: 'Look up' }).click()
  await tool('Look up').getByText('sys/wrapping/wrap').waitFor()
  await tool('Unwrap').getByRole('textbox', { name: 'Token to unwrap' }).fill(String(token))
  await tool('Unwrap').getByRole('button', { name: 'Unwrap', exact: true }).click()
  await tool('Unwrap').getByRole('button', { name: 'Show Unwrapped data' }).click()
  await tool('Unwrap').getByText('"password": "s3cret"').waitFor()
  await tool('Unwrap').getByText('"n": 1.50').waitFor()
  await expectAccessible(page)

  await tool('Unwrap').getByRole('textbox', { name: 'Token to unwrap' }).fill(String(token))
  await tool('Unwrap').getByRole('button', { name: 'Unwrap', exact: true }).click()
  await tool('Unwrap').getByRole('alert').waitFor()
  expect(await tool('Unwrap').getByText('s3cret').count()).toBe(0)
  expect(requested.join('\n')).not.toContain(String(token))

  await page
    .getByRole('spinbutton', { name: 'Number of bytes' })
    .or(page.getByLabel('Number of bytes'))
    .fill('8')
  await page.getByRole('region', { name: 'Random bytes' }).getByRole('combobox').selectOption('hex')
  await page.getByRole('button', { name: 'Generate' }).click()
  await page.getByRole('button', { name: 'Show Random bytes' }).click()
  await page.getByText(/^[0-9a-f]{16}$/).waitFor()

  await page.getByRole('textbox', { name: 'Text' }).fill('hello')
  await page.getByRole('button', { name: 'Hash' }).click()
  // of FIPS 180-4's function
  await page.getByText('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824').waitFor()
  expect(complaints).toEqual([])
})

test('the view is there for a token that may do more than every token', async () => {
  await using allowed = await open(await tokenOf('dice'))
  await allowed.page.getByRole('region', { name: 'Random bytes' }).waitFor()
})
