import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { openAs, openAsNobody } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  const { root } = server
  await root.write('sys/mounts/kvone', { type: 'kv-v1' })
  await root.write('sys/mounts/team', { type: 'kv-v2' })
  await root.write('sys/mounts/victim', { type: 'kv-v1' })
  await root.write('sys/auth/userpass', { type: 'userpass' })
  await root.write('sys/auth/approle', { type: 'approle' })
})
afterAll(() => server[Symbol.asyncDispose]())

const places = [
  // a secret and a folder of version 1, a secret whose dots are encoded, one behind a single dot, one of version 2
  'secrets/kvone~/..~sys~mounts~victim',
  'secrets/kvone~/..~sys~mounts~victim~',
  'secrets/kvone~/%2e%2e~sys~mounts~victim',
  'secrets/kvone~/.~victim',
  'secrets/team~/..~..~sys~mounts~victim',
  'secrets/team~/..%2f..%2fsys%2fmounts%2fvictim',
  'access/policies/..~..~mounts~victim',
  'access/entities/..',
  'access/tokens/..~victim',
  'leases/..~..~..~mounts~victim~',
  'logins/userpass/users/..',
  'logins/approle/roles/..',
  'messages/..',
  'cloud/..~sys~mounts~victim/roles',
  'cloud/cloud/roles/..',
  'system/limits/..~..~mounts~victim',
  'system/secrets/..~victim~',
  // what every object has
  'constructor/x',
  '__proto__/x',
]

test('a link that names something with dots, or a member of every object, sends nothing and leads to no place', async () => {
  const [first = '', ...others] = places
  await using opened = await openAs(`${server.url}/ui/#/${first}`, 'root')
  const { page, requested } = opened
  const none = page.getByRole('main').getByText('There is no such place')
  await none.waitFor()
  for (const place of others) {
    await page.goto(`${server.url}/ui/#/tools`)
    await none.waitFor({ state: 'detached' })
    await page.goto(`${server.url}/ui/#/${place}`)
    await none.waitFor()
  }

  expect(requested.filter((address) => address.includes('victim'))).toEqual([])
})

test('a folder that is typed with dots leads to no place', async () => {
  await using opened = await openAs(`${server.url}/ui/#/secrets/kvone~`, 'root')
  const { page, requested } = opened

  await page.getByRole('textbox', { name: 'Open or create a secret' }).fill('../sys/mounts/victim')
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await page.getByText('There is no such place').waitFor()

  expect(requested.filter((address) => address.includes('victim'))).toEqual([])
})

test('a login method that is typed with dots gets no password', async () => {
  await using opened = await openAsNobody(`${server.url}/ui/`)
  const { page } = opened
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.method()))

  await page.getByRole('tab', { name: 'Other' }).click()
  await page.getByRole('combobox', { name: 'Method' }).selectOption('userpass')
  await page.getByRole('textbox', { name: 'Mount path' }).fill('../sys/mounts')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ann')
  await page.getByRole('textbox', { name: 'Password' }).fill('secret')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByText('Nothing was sent: ".."').waitFor()

  expect(sent).not.toContain('POST')
})
