import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LoginFixture, openLoginFixture } from '../plugins/jwt-auth/explain/fixture.ts'
import { expectAccessible, openAs, openAsNobody } from './pages.ts'

let fixture: LoginFixture
let jwtMount: string

beforeAll(async () => {
  fixture = await openLoginFixture()
  const { root } = fixture
  jwtMount = await fixture.mount()
  await root.write('sys/auth/people', { type: 'userpass' })
  await root.write('auth/people/users/bob', { password: 'right' })
  await root.write('sys/auth/machines', { type: 'approle' })
  await root.write('auth/machines/role/nightly', { role_id: 'nightly-id' })
})
afterAll(() => fixture[Symbol.asyncDispose]())

type Fill = (page: Page) => Promise<void>

const ways: readonly {
  readonly mount: () => string
  readonly method: string
  readonly fill: Fill
  readonly said: readonly string[]
}[] = [
  {
    mount: () => 'people',
    method: 'userpass',
    fill: async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Bob')
      await page.getByRole('textbox', { name: 'Password' }).fill('wrong')
    },
    said: ['the user has another password', 'Refused: password_wrong (400)'],
  },
  {
    mount: () => 'machines',
    method: 'approle',
    fill: async (page) => {
      await page.getByLabel('Role id').fill('nightly-id')
      await page.getByLabel('Secret id').fill('wrong')
    },
    said: ['Refused: secret_id_unknown (400)'],
  },
  {
    mount: () => jwtMount,
    method: 'jwt',
    fill: async (page) => {
      await page.getByRole('textbox', { name: 'Role' }).fill('ci')
      await page
        .getByRole('textbox', { name: 'JWT', exact: true })
        .fill(await fixture.sign({ repository: 'acme/tool' }))
    },
    said: ['Refused: bound_claim_mismatch (400)', 'repo:acme/shop', 'acme/tool'],
  },
]

/** The id that a person is told whose login is refused. */
async function refusedId(page: Page, mount: string, method: string, fill: Fill): Promise<string> {
  await page.goto(`${fixture.server.url}/ui/`)
  await page.getByRole('tab', { name: 'Other' }).click()
  await page.getByRole('combobox', { name: 'Method' }).selectOption(method)
  await page.getByRole('textbox', { name: 'Mount path' }).fill(mount)
  await fill(page)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  const told = page.getByRole('alert').filter({ hasText: 'Give this id to the operator' })
  return (await told.locator('code').textContent()) ?? ''
}

/** Of three people whose logins are refused, each in another way. */
async function refusedIds(): Promise<string[]> {
  await using opened = await openAsNobody(`${fixture.server.url}/ui/`)
  const ids: string[] = []
  for (const { mount, method, fill } of ways) ids.push(await refusedId(opened.page, mount(), method, fill))
  return ids
}

test('the operator finds the cause of a refused login by the id that the person was told, whatever the method', async () => {
  const ids = await refusedIds()
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins`, 'root')
  const { page, complaints } = opened
  const search = page.getByRole('search', { name: 'Find a refused login' })
  const known = Promise.withResolvers<void>()
  await page.route(/\/namespaces(?:\?|$)/, async (route) => {
    await known.promise
    await route.continue()
  })
  await page.reload()
  await page.getByRole('link', { name: 'people/', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Leases' }).waitFor()
  // it would leave out the namespaces
  expect(await search.count()).toBe(0)
  known.resolve()
  for (const [at, { mount, said }] of ways.entries()) {
    await search.getByRole('textbox', { name: 'Request id' }).fill(` ${ids[at]} `)
    await search.getByRole('button', { name: 'Find' }).click()

    for (const text of said) await page.getByText(text).first().waitFor()
    expect(page.url()).toContain(`#/logins/${mount()}/failures/${ids[at]}`)
    await page.goto(`${fixture.server.url}/ui/#/logins`)
    await page.getByRole('heading', { name: /^Refused/ }).waitFor({ state: 'detached' })
  }
  expect(complaints).toEqual([])
})

test('repeats are one row, a chart and its table count by reason, and a spreadsheet gets no formula', async () => {
  const mount = await fixture.mount()
  for (let sent = 0; sent < 3; sent++)
    await fixture.login(mount, { jwt: await fixture.sign({ sub: '=1+1', aud: 'x' }) })
  await fixture.login(mount, { jwt: 'x' })
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins/${mount}/failures`, 'root')
  const { page } = opened
  const table = page.getByRole('table', { name: 'Failed logins' })

  await table.getByText(/3 times since .*, same cause/).waitFor()
  await table.getByText('The token is for another audience.').waitFor()
  expect(await table.getByRole('row').count()).toBe(3)
  await page.getByRole('checkbox', { name: 'One row for the same cause' }).uncheck()
  await expect.poll(() => table.getByRole('row').count()).toBe(5)
  await page
    .getByRole('img', { name: /^4 refusals over time, by reason: audience_mismatch, token_malformed/ })
    .waitFor()
  await page.getByText('As a table').click()
  await page.getByRole('columnheader', { name: 'audience_mismatch' }).waitFor()
  await expectAccessible(page)
  const saved = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name }).click(),
    ])
    return text(await download.createReadStream())
  }
  const csv = await saved('Export as CSV')
  const json = JSON.parse(await saved('Export as JSON')) as { subject: string }[]

  expect(csv.split('\r\n')).toHaveLength(6)
  expect(csv).toContain(`"'=1+1"`)
  expect(json.map(({ subject }) => subject)).toEqual(['', '=1+1', '=1+1', '=1+1'])
})

test('who may read the failures of one mount searches there, and is told if it is nowhere', async () => {
  await fixture.root.write('sys/policies/acl/of-people', {
    policy: 'path "auth/people/failures" { capabilities = ["read"] }',
  })
  const made = await fixture.root.write('auth/token/create', { policies: ['of-people'] })
  const wrong = { role_id: 'nightly-id', secret_id: 'wrong' }
  const refused = await fixture.server.anonymous.write('auth/machines/login', wrong)
  const id = String(refused.body['request_id'])
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins`, String(made.body.auth?.client_token))
  const { page, requested } = opened

  const search = page.getByRole('search', { name: 'Find a refused login' })
  await search.getByRole('textbox', { name: 'Request id' }).fill(id)
  await search.getByRole('button', { name: 'Find' }).click()

  await search.getByText(/^None of 1 mount in \d namespaces? that you may ask has it\./).waitFor()
  expect(requested.filter((address) => address.includes('/failures')).join('\n')).not.toContain('machines')
})

test('an operator finds a refused login in a namespace below, also one who may not search the namespaces', async () => {
  const { root, anonymous } = fixture.server
  for (const path of ['sys/namespaces/team', 'team/sys/namespaces/shop']) await root.write(path)
  await root.write('team/shop/sys/auth/staff', { type: 'userpass' })
  await root.write('team/shop/auth/staff/users/eve', { password: 'right' })
  const refused = await anonymous.write('team/shop/auth/staff/login/eve', { password: 'wrong' })
  const id = String(refused.body['request_id'])
  await root.write('sys/policies/acl/of-staff', {
    policy: `path "auth/people/failures" { capabilities = ["read"] }
      path "team/shop/auth/staff/failures" { capabilities = ["read"] }
      path "team/shop/auth/staff/explain" { capabilities = ["read"] }
      path "team/shop/auth/staff/config" { capabilities = ["read"] }
      path "team/shop/auth/staff/users/*" { capabilities = ["read"] }`,
  })
  const made = await root.write('auth/token/create', { policies: ['of-staff'] })
  for (const token of ['root', String(made.body.auth?.client_token)]) {
    await using opened = await openAs(`${fixture.server.url}/ui/#/logins`, token)
    const { page, complaints } = opened
    const search = page.getByRole('search', { name: 'Find a refused login' })
    await search.getByRole('textbox', { name: 'Request id' }).fill('of-nobody')
    await search.getByRole('button', { name: 'Find' }).click()
    await search.getByText(/^None of \d+ mounts? in 3 namespaces that you may ask has it\./).waitFor()
    await search.getByRole('textbox', { name: 'Request id' }).fill(id)
    await search.getByRole('button', { name: 'Find' }).click()

    await page.getByRole('button', { name: 'Namespace team/shop/: change' }).waitFor()
    await page.getByRole('heading', { name: 'Refused: password_wrong (400)' }).waitFor()
    expect(page.url()).toContain(`namespace=team%2Fshop#/logins/staff/failures/${id}`)
    await expectAccessible(page)
    expect(complaints).toEqual([])
  }
})
