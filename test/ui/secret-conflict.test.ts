import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/mounts/team', { type: 'kv-v2' })
  await server.root.write('sys/policies/acl/editor', {
    policy: 'path "team/*" { capabilities = ["create", "read", "update", "delete", "list"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())

async function tokenOf(name: string): Promise<string> {
  const made = await server.root.write('auth/token/create', { policies: ['editor'], display_name: name })
  return String(made.body.auth?.client_token)
}

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const current = async () => (await server.root.read('team/data/db')).body.data?.['data']

test('an edit that meets a change of somebody else shows both field by field, and saves mine, theirs or a merge, without losing anything', async () => {
  const bob = server.as(await tokenOf('bob'))
  const write = (data: object) => bob.write('team/data/db', { data })
  await write({ user: 'app', password: 'first', port: 1 })
  await using opened = await openAs(`${server.url}/ui/#/secrets/team~/db`, await tokenOf('ada'))
  const { page, complaints } = opened

  await button(page, 'Edit').click()
  await field(page, 'Value of password').fill('of ada')
  await write({ user: 'of bob', password: 'first', port: 2, note: 'from bob' })
  await button(page, 'Save as version 2').click()
  const conflict = page.getByRole('region', { name: 'Somebody else has saved version 2 meanwhile' })
  await conflict.getByText('token-bob saved it,').waitFor()
  await conflict.getByRole('row', { name: /^password changed by you/ }).waitFor()
  await conflict.getByRole('row', { name: /^user changed by them/ }).waitFor()
  await conflict.getByRole('row', { name: /^note changed by them not there/ }).waitFor()
  await button(page, 'Show user, Theirs').click()
  await conflict.getByText('of bob').waitFor()
  await button(page, 'Merge').click()
  await expectAccessible(page)
  await conflict.getByRole('group', { name: 'Keep for port' }).getByRole('radio', { name: 'Mine' }).check()
  await button(page, 'Save the merge as version 3').click()
  await page.getByRole('region', { name: 'Version 3 (current)' }).waitFor()
  expect(await current()).toEqual({ user: 'of bob', password: 'of ada', port: 1, note: 'from bob' })

  await button(page, 'Edit').click()
  await field(page, 'Value of password').fill('of ada again')
  await write({ password: 'fourth' })
  await button(page, 'Save as version 4').click()
  await button(page, 'Take theirs').click()
  await page.getByRole('region', { name: 'Version 4 (current)' }).waitFor()
  await button(page, 'Edit my values again').click()
  expect(await field(page, 'Value of password').inputValue()).toBe('of ada again')

  await write({ password: 'fifth' })
  await button(page, 'Save as version 5').click()
  await button(page, 'Save mine as version 6').waitFor()
  await write({ password: 'sixth' })
  await button(page, 'Save mine as version 6').click()
  await button(page, 'Save mine as version 7').click()
  await page.getByRole('region', { name: 'Version 7 (current)' }).waitFor()
  expect(await current()).toMatchObject({ password: 'of ada again', user: 'of bob' })

  await button(page, 'Edit').click()
  await field(page, 'Value of password').fill('last')
  await bob.delete('team/metadata/db')
  await button(page, 'Save as version 8').click()
  await page.getByRole('heading', { name: 'Somebody else has deleted this secret meanwhile' }).waitFor()
  await button(page, 'Save mine as version 1').click()
  await page.getByRole('region', { name: 'Version 1 (current)' }).waitFor()
  expect(await current()).toMatchObject({ password: 'last' })
  expect(complaints).toEqual([])
})

test('a new secret that somebody else has made meanwhile keeps what was typed', async () => {
  await using opened = await openAs(`${server.url}/ui/#/secrets/team~/fresh`, await tokenOf('ada'))
  const { page } = opened
  await field(page, 'Field').fill('key')
  await field(page, 'Value of key').fill('of ada')
  await server.root.write('team/data/fresh', { data: { key: 'of root' } })
  await button(page, 'Create').click()
  await page.getByRole('heading', { name: 'Somebody else has saved version 1 meanwhile' }).waitFor()
  await button(page, 'Edit mine').click()

  expect(await field(page, 'Value of key').inputValue()).toBe('of ada')
  await button(page, 'Save as version 2').click()
  await page.getByRole('region', { name: 'Version 2 (current)' }).waitFor()
})

test('a value without versions that has changed since it was opened is not overwritten unseen', async () => {
  await server.root.write('sys/mounts/old', { type: 'kv', options: { version: '1' } })
  await server.root.write('old/db', { user: 'app', password: 'first' })
  const now = async () => (await server.root.read('old/db')).body.data
  await using opened = await openAs(`${server.url}/ui/#/secrets/old~/db`, 'root')
  const { page, complaints } = opened
  const conflict = page.getByRole('region', { name: 'Somebody else has changed this secret meanwhile' })

  await button(page, 'Edit').click()
  await field(page, 'Value of password').fill('mine')
  await server.root.write('old/db', { user: 'theirs', password: 'first' })
  await button(page, 'Save').click()
  await conflict.getByRole('row', { name: /^password changed by you/ }).waitFor()
  await conflict.getByRole('row', { name: /^user changed by them/ }).waitFor()
  await expectAccessible(page)
  expect(await now()).toEqual({ user: 'theirs', password: 'first' })
  await button(page, 'Merge').click()
  const read = Promise.withResolvers<void>()
  let isWritten = false
  await page.route('**/v1/old/db', async (route) => {
    if (route.request().method() !== 'GET') isWritten = true
    else if (isWritten) await read.promise
    await route.continue()
  })
  await button(page, 'Save the merge').click()
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor({ state: 'attached' })
  // another edit would begin with the values of before
  expect(await button(page, 'Edit').count()).toBe(0)
  read.resolve()
  await button(page, 'Edit').waitFor()
  expect(await now()).toEqual({ user: 'theirs', password: 'mine' })

  await button(page, 'Edit').click()
  await field(page, 'Value of password').fill('mine again')
  await server.root.delete('old/db')
  await button(page, 'Save').click()
  await page.getByRole('heading', { name: 'Somebody else has deleted this secret meanwhile' }).waitFor()
  await button(page, 'Save mine').click()
  await button(page, 'Edit').waitFor()
  expect(await now()).toEqual({ user: 'theirs', password: 'mine again' })
  expect(complaints).toEqual([])
})
