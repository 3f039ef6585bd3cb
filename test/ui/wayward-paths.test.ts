import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { pagesOfFile, sessionsOfFile } from './pages.ts'

const openAs = sessionsOfFile()
const openPage = pagesOfFile()

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

test.each([
  { name: 'a secret of version 1', place: 'secrets/kvone~/..~sys~mounts~victim' },
  { name: 'a folder of version 1', place: 'secrets/kvone~/..~sys~mounts~victim~' },
  { name: 'a secret whose dots are encoded', place: 'secrets/kvone~/%2e%2e~sys~mounts~victim' },
  { name: 'a secret behind a single dot', place: 'secrets/kvone~/.~victim' },
  { name: 'a secret of version 2', place: 'secrets/team~/..~..~sys~mounts~victim' },
  { name: 'a policy', place: 'access/policies/..~..~mounts~victim' },
  { name: 'an entity', place: 'access/entities/..' },
  { name: 'a lease', place: 'leases/..~..~..~mounts~victim~' },
  { name: 'a user', place: 'logins/userpass/users/..' },
  { name: 'a role', place: 'logins/approle/roles/..' },
  { name: 'a message', place: 'messages/..' },
  { name: 'a cloud mount', place: 'cloud/..~sys~mounts~victim/roles' },
  { name: 'a secret with encoded slashes', place: 'secrets/team~/..%2f..%2fsys%2fmounts%2fvictim' },
  { name: 'a rate limit', place: 'system/limits/..~..~mounts~victim' },
  { name: 'a mount', place: 'system/secrets/..~victim~' },
  { name: 'a token', place: 'access/tokens/..~victim' },
  { name: 'a cloud role', place: 'cloud/cloud/roles/..' },
])('a link that names $name with dots sends nothing and leads to no place', async ({ place }) => {
  await using opened = await openAs(`${server.url}/ui/#/${place}`, 'root')
  const { page, requested } = opened

  await page.getByRole('main').getByText('There is no such place').waitFor()

  expect(requested.filter((address) => address.includes('victim'))).toEqual([])
})

test.each(['constructor/x', '__proto__/x'])('%s is no place', async (place) => {
  await using opened = await openAs(`${server.url}/ui/#/${place}`, 'root')

  await opened.page.getByRole('main').getByText('There is no such place').waitFor()
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
  await using opened = await openPage(`${server.url}/ui/`)
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
