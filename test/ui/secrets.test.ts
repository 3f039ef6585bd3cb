import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

let server: TestServer
const markup = '<img src=x onerror="document.title=1">'

beforeAll(async () => {
  server = await startTestServer()
  const { root } = server
  await root.write('sys/mounts/team', { type: 'kv-v2', description: 'Of the team' })
  await root.write('sys/mounts/old', { type: 'kv-v1' })
  await root.write('old/app/db', { password: 'first' })
  await root.write('team/data/shop/db', { data: { username: 'shop', password: 's3cret', port: 5432 } })
  await root.write('team/data/shop/db', { data: { username: 'shop', password: 'n3w', note: markup } })
  await root.write('sys/policies/acl/reader', {
    policy:
      'path "team/data/shop/*" { capabilities = ["read"] }\npath "old/+/db" { capabilities = ["read"] }',
  })
  await root.write('sys/policies/acl/writer', {
    policy:
      'path "team/data/drop/*" { capabilities = ["create", "update"] }\npath "old/drop/*" { capabilities = ["update"] }',
  })
  await root.write('sys/policies/acl/lister', {
    policy: 'path "team/metadata/*" { capabilities = ["list", "read"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const tokenOf = async (...policies: string[]): Promise<string> => {
  const made = await server.root.write('auth/token/create', { policies })
  return String(made.body.auth?.client_token)
}

async function open(token: string, place = '') {
  return openAs(`${server.url}/ui/#/secrets${place}`, token)
}

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })

test('an operator browses, reads, edits, compares, rolls back, destroys and deletes a secret', async () => {
  await using opened = await open(await tokenOf('root'))
  const { page, complaints } = opened
  await page.getByRole('link', { name: 'team/', exact: true }).click()
  await page.getByRole('link', { name: 'shop/' }).click()
  await page.getByRole('link', { name: 'db', exact: true }).click()
  const values = page.getByRole('region', { name: 'Version 2 (current)' })
  await values.waitFor()
  await expectAccessible(page)

  expect(await page.content()).not.toContain('n3w')
  await values.getByRole('button', { name: 'Show password' }).click()
  await values.getByText('n3w').waitFor()
  await values.getByRole('button', { name: 'Show note' }).click()
  await values.getByText(markup).waitFor()

  await values.getByRole('button', { name: 'Edit', exact: true }).click()
  await expectAccessible(page)
  await field(page, 'Value of password').fill('third')
  await page.getByRole('button', { name: 'Save as version 3' }).click()
  await page.getByRole('region', { name: 'Version 3 (current)' }).waitFor()
  expect((await server.root.read('team/data/shop/db')).body.data).toMatchObject({
    data: { username: 'shop', password: 'third', note: markup },
  })

  await page.getByRole('row', { name: /^1 / }).getByRole('link', { name: 'Compare with 3' }).click()
  const difference = page.getByRole('region', { name: 'From version 1 to version 3' })
  await difference.getByRole('row', { name: /^password Changed/ }).waitFor()
  await difference.getByRole('row', { name: /^port Removed/ }).waitFor()
  await difference.getByRole('row', { name: /^note Added/ }).waitFor()
  await expectAccessible(page)

  await page.getByRole('button', { name: 'Roll back to version 1' }).click()
  await page.getByRole('row', { name: /^4 / }).waitFor()
  expect((await server.root.read('team/data/shop/db')).body.data).toMatchObject({
    data: { username: 'shop', password: 's3cret', port: 5432 },
  })

  await page.getByRole('row', { name: /^2 / }).getByRole('button', { name: 'Destroy' }).click()
  await page.getByRole('alertdialog', { name: 'Destroy version 2 of shop/db?' }).waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Destroy' }).click()
  await page.getByRole('row', { name: /^2 .*Destroyed/ }).waitFor()

  await page.getByRole('button', { name: 'Delete the secret' }).click()
  await page.getByRole('alertdialog').getByText('All 4 versions').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the secret' }).click()
  await page.getByText('There is nothing here yet').waitFor()
  expect((await server.root.read('team/metadata/shop/db')).status).toBe(404)
  await server.root.write('team/data/shop/db', { data: { password: 's3cret' } })
  expect(complaints).toEqual([])
})

test('a search finds names in all folders below, says how far it came, and leaves out what may not be listed', async () => {
  await server.root.write('team/data/hidden/db', { data: { password: 's3cret' } })
  await server.root.write('sys/policies/acl/searcher', {
    policy:
      'path "team/metadata/*" { capabilities = ["list"] }\npath "team/metadata/hidden/*" { capabilities = ["deny"] }',
  })
  await using opened = await open(await tokenOf('searcher'), '/team~')
  const { page } = opened
  await field(page, 'Search names here and below').fill('DB')
  await page.getByRole('button', { name: 'Search' }).click()
  const found = page.getByRole('list', { name: 'Found names' })
  await found.getByRole('link', { name: 'shop/db' }).waitFor()
  await page.getByText('folders that your token may not list: 1').waitFor()
  await expectAccessible(page)

  expect(await found.getByRole('link').allInnerTexts()).toEqual(['shop/db'])

  // a folder whose names do not come
  await page.route('**/v1/team/metadata/shop/**', () => {})
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('status').getByText('still searching').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText(/found: 0; .*cancelled/).waitFor()
  await page.getByRole('button', { name: 'Search' }).waitFor()
  await page.unrouteAll()
})

test('without the call for it, a roll back reads the version and writes it', async () => {
  await server.root.write('team/data/roll', { data: { password: 'good' } })
  await server.root.write('team/data/roll', { data: { password: 'bad' } })
  await server.root.write('team/metadata/roll', { delete_version_after: '720h' })
  await server.root.write('sys/policies/acl/roller', {
    policy:
      'path "team/data/roll" { capabilities = ["read", "update"] }\npath "team/metadata/roll" { capabilities = ["read"] }',
  })
  await using opened = await open(await tokenOf('roller'), '/team~/roll')
  const { page } = opened
  await page.getByRole('button', { name: 'Roll back to version 1' }).click()
  await page.getByText('It expires:').waitFor()
  await page.getByRole('row', { name: /^3 .*Available until/ }).waitFor()

  expect((await server.root.read('team/data/roll')).body.data).toMatchObject({ data: { password: 'good' } })
})

test('a reader sees only what the token allows', async () => {
  await using opened = await open(await tokenOf('reader'))
  const { page } = opened
  await page.getByRole('link', { name: 'team/', exact: true }).click()
  await page.getByText('Your token may not list this folder').waitFor()
  await field(page, 'Open or create a secret').fill('shop/db')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('button', { name: 'Show password' }).waitFor()

  const buttons = await page.getByRole('main').getByRole('button').allInnerTexts()
  expect(buttons.filter((name) => /edit|delete|destroy|roll/i.test(name))).toEqual([])
})

test('who may read metadata alone sees versions and no values', async () => {
  await using opened = await open(await tokenOf('lister'), '/team~/shop~db')
  const { page } = opened
  await page.getByText('Your token may not read the values of this secret.').waitFor()

  await page.getByRole('table', { name: 'Versions' }).waitFor()
  expect(await page.getByRole('button', { name: /^Show/ }).count()).toBe(0)
})

test('who may write without reading replaces a secret unseen', async () => {
  await server.root.write('team/data/drop/key', { data: { key: 'first' } })
  await server.root.write('old/drop/key', { key: 'first' })
  await using opened = await open(await tokenOf('writer'), '/team~/drop~key')
  const { page } = opened
  const write = async () => {
    await page.getByText('What you write replaces the current values, if there are any.').waitFor()
    await field(page, 'Field').fill('key')
    await field(page, 'Value of key').fill('second')
    const written = page.waitForResponse(
      (response) => response.request().method() !== 'GET' && response.url().includes('drop'),
    )
    await page.getByRole('button', { name: 'Save' }).click()
    await written
  }
  await write()
  expect((await server.root.read('team/data/drop/key')).body.data).toMatchObject({ data: { key: 'second' } })

  await page.goto(`${server.url}/ui/#/secrets/old~/drop~key`)
  await write()
  expect((await server.root.read('old/drop/key')).body.data).toEqual({ key: 'second' })
})

describe('an operator stays in the UI', () => {
  const visit = sharedPage(() => server.url)

  test('a person deletes the current version and brings it back', async () => {
    await server.root.write('team/data/shop/back', { data: { password: 'here' } })
    const { page } = await visit('secrets/team~/shop~back')

    await page.getByRole('button', { name: 'Delete this version' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete this version' }).click()
    await page.getByText('This version is deleted. It can be undeleted.').waitFor()
    await page.getByRole('button', { name: 'Undelete version 1' }).click()

    await page.getByRole('button', { name: 'Show password' }).waitFor()
  })

  test('a new secret is written where its name is typed, with text and JSON values', async () => {
    const { page } = await visit('secrets/team~')
    await field(page, 'Open or create a secret').fill('new/api')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('There is no secret here. This makes its first version.').waitFor()

    await field(page, 'Field').fill('limit')
    await field(page, 'Value of limit').fill('12345678901234567890.50')
    await page.getByRole('checkbox', { name: 'The value of limit is JSON' }).check()
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('region', { name: 'Version 1 (current)' }).waitFor()

    const written = await fetch(`${server.url}/v1/team/data/new/api`, {
      headers: { 'x-vault-token': await tokenOf('root') },
    })
    expect(await written.text()).toContain('"limit":12345678901234567890.50')
  })

  test('a person makes a folder with a secret whose value the server makes, and edits it as JSON without losing digits', async () => {
    const { page, complaints } = await visit('secrets/team~')
    await page.getByRole('button', { name: 'New folder' }).click()
    await field(page, 'Name').fill('fresh')
    await page.getByRole('dialog').getByRole('button', { name: 'Open' }).click()
    await page.getByText('A folder is there once it has a secret.').waitFor()
    await page.getByRole('button', { name: 'New secret' }).click()
    await expectAccessible(page)
    await field(page, 'Name').fill('api')
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()

    await field(page, 'Field').fill('key')
    await page.getByRole('button', { name: 'Generate the value of key' }).click()
    await page.getByRole('combobox', { name: 'Characters of key' }).selectOption('hex')
    await page.getByRole('spinbutton', { name: 'Length of key' }).or(field(page, 'Length of key')).fill('40')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('region', { name: 'Version 1 (current)' }).waitFor()
    const first = (await server.root.read('team/data/fresh/api')).body.data
    expect(first).toMatchObject({ data: { key: expect.stringMatching(/^[0-9a-f]{40}$/) } })

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('button', { name: 'Edit as JSON' }).click()
    await field(page, 'All fields as JSON').fill('[1]')
    await page.getByText('This is not a JSON object.').waitFor()
    await field(page, 'All fields as JSON').fill(
      '{"nested": {"big": 12345678901234567890.50, "list": [1e3]}}',
    )
    await page.getByRole('button', { name: 'Edit field by field' }).click()
    await field(page, 'Value of nested').waitFor()
    await page.getByRole('button', { name: 'Edit as JSON' }).click()
    await page.getByRole('button', { name: 'Save as version 2' }).click()
    await page.getByRole('region', { name: 'Version 2 (current)' }).waitFor()
    const written = await fetch(`${server.url}/v1/team/data/fresh/api`, {
      headers: { 'x-vault-token': await tokenOf('root') },
    })
    expect(await written.text()).toContain('{"nested":{"big":12345678901234567890.50,"list":[1e3]}}')
    await page.getByRole('button', { name: 'Show as JSON' }).click()
    await page.getByRole('button', { name: 'Show All fields as JSON' }).click()
    await page.getByText('12345678901234567890.50').waitFor()

    await page.getByRole('button', { name: 'Copy as…' }).click()
    await expectAccessible(page)
    await page.getByText('vault kv get -mount=team fresh/api').waitFor()
    await page.getByText('bao kv get -mount=team fresh/api').waitFor()
    await page.getByText('kind: ExternalSecret').waitFor()
    expect(complaints).toEqual([])
  })

  test('version 1 has one value, which is read, written and deleted', async () => {
    const { page } = await visit('secrets/old~/app~db')
    await page.getByRole('button', { name: 'Show password' }).waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await field(page, 'Value of password').fill('second')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    expect((await server.root.read('old/app/db')).body.data).toEqual({ password: 'second' })

    await page.getByRole('button', { name: 'Delete the secret' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete the secret' }).click()
    await page.getByText('There is nothing here yet').waitFor()
  })

  test('a value is made by a password policy, and only where there is none yet', async () => {
    await server.root.write('sys/policies/password/pin', {
      policy: 'length = 12\nrule "charset" { charset = "xyz" }',
    })
    await server.root.write('team/data/pins', { data: { other: 'x' } })
    const { page, complaints } = await visit('secrets/team~/pins')
    const make = async () => {
      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      await page.getByRole('button', { name: 'Add a field' }).click()
      await field(page, 'Field').last().fill('pin')
      await page.getByRole('button', { name: 'Generate the value of pin' }).click()
      await page
        .getByRole('combobox', { name: 'Characters of pin' })
        .selectOption('As a password policy says')
      await field(page, 'Password policy of pin').fill('pin')
    }
    await make()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save as version 2' }).click()
    await page.getByRole('region', { name: 'Version 2 (current)' }).waitFor()
    const first = (await server.root.read('team/data/pins')).body.data?.['data']
    expect(first).toEqual({ other: 'x', pin: expect.stringMatching(/^[xyz]{12}$/) })

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('button', { name: 'Generate the value of pin' }).click()
    await page.getByRole('combobox', { name: 'Characters of pin' }).selectOption('As a password policy says')
    await field(page, 'Password policy of pin').fill('pin')
    await page.getByRole('checkbox', { name: 'Generate pin only if there is no value yet' }).check()
    await field(page, 'Value of other').fill('y')
    await page.getByRole('button', { name: 'Save as version 3' }).click()
    await page.getByRole('region', { name: 'Version 3 (current)' }).waitFor()
    expect((await server.root.read('team/data/pins')).body.data?.['data']).toEqual({
      ...Object(first),
      other: 'y',
    })
    expect(complaints).toEqual([])
  })

  test('metadata that somebody else changed meanwhile shows both sides, and saves mine or takes theirs', async () => {
    await server.root.write('team/data/shared', { data: { a: '1' } })
    await server.root.write('team/metadata/shared', { custom_metadata: { owner: 'nobody' } })
    const theirs = (owner: string) =>
      server.root.write('team/metadata/shared', { max_versions: 7, custom_metadata: { owner } })
    const { page, complaints } = await visit('secrets/team~/shared')
    const conflict = page.getByRole('region', { name: 'Somebody else has changed the metadata' })
    const begin = async (owner: string) => {
      await page.getByRole('button', { name: 'Edit metadata' }).click()
      await field(page, 'Value of owner').fill(owner)
    }
    await begin('ada')
    await theirs('bob')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await conflict.getByText('custom_metadata.owner').waitFor()
    await conflict.getByText('bob').waitFor()
    await conflict.getByText('max_versions').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save mine' }).click()
    await page.getByRole('button', { name: 'Edit metadata' }).waitFor()
    await page.getByRole('definition').filter({ hasText: /^ada$/ }).waitFor()
    const saved = (await server.root.read('team/metadata/shared')).body.data

    await begin('ada again')
    await theirs('eve')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await conflict.getByRole('button', { name: 'Take theirs' }).click()
    await page.getByRole('button', { name: 'Edit metadata' }).waitFor()
    await page.getByRole('definition').filter({ hasText: /^eve$/ }).waitFor()

    expect(saved).toMatchObject({ max_versions: 0, custom_metadata: { owner: 'ada' } })
    expect(complaints).toEqual([])
  })

  test('metadata is shown and changed', async () => {
    const { page } = await visit('secrets/team~/shop~db')
    await page.getByRole('button', { name: 'Edit metadata' }).click()
    await page.getByRole('spinbutton', { name: 'Versions kept' }).or(field(page, 'Versions kept')).fill('5')
    await page.getByRole('button', { name: 'Add a note' }).click()
    await field(page, 'Name').fill('owner')
    await field(page, 'Value of owner').fill('team a')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Edit metadata' }).waitFor()
    await page.getByRole('definition').filter({ hasText: 'team a' }).waitFor()

    expect((await server.root.read('team/metadata/shop/db')).body.data).toMatchObject({
      max_versions: 5,
      custom_metadata: { owner: 'team a' },
    })
  })
})
