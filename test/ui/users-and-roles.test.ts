import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  const { root } = server
  await root.write('sys/auth/userpass', { type: 'userpass' })
  await root.write('sys/auth/approle', { type: 'approle' })
  await root.write('auth/userpass/users/lee', { password: 'correct', token_policies: ['deploy'] })
  await root.write('auth/approle/role/nightly', { token_policies: ['deploy'] })
  await root.write('sys/policies/acl/reader', {
    policy:
      'path "auth/userpass/users" { capabilities = ["list"] }\npath "auth/userpass/users/*" { capabilities = ["read"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())

async function open(token: string, place: string) {
  return openAs(`${server.url}/ui/#/logins${place}`, token)
}

const logInAs = (name: string, password: string) =>
  server.anonymous.write(`auth/userpass/login/${name}`, { password })

test('a user who is locked out is unlocked', async () => {
  for (let failed = 0; failed < 5; failed += 1) await logInAs('lee', 'wrong')
  await using opened = await open('root', '/userpass/users/lee')
  const { page, complaints } = opened
  await page.getByRole('row', { name: 'lee Locked out' }).waitFor()
  await page.getByText('Locked out after too many wrong passwords.').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Unlock' }).click()
  await page.getByText('Locked out after too many wrong passwords.').waitFor({ state: 'detached' })
  expect((await logInAs('lee', 'correct')).status).toBe(200)
  expect(complaints).toEqual([])
})

test('a reader sees users without buttons, and no state of locks', async () => {
  const made = await server.root.write('auth/token/create', { policies: ['reader'] })
  await using opened = await open(String(made.body.auth?.client_token), '/userpass/users/lee')
  const { page } = opened
  await page.getByRole('region', { name: 'lee', exact: true }).getByText('deploy').waitFor()
  expect(
    await page
      .getByRole('main')
      .getByRole('button', { name: /Create|Change|Delete|Unlock/ })
      .count(),
  ).toBe(0)
  expect(await page.getByRole('link', { name: 'approle/' }).count()).toBe(0)
})

describe('an operator stays in the UI', () => {
  const visit = sharedPage(() => server.url)

  test('an operator creates a user, changes the password and the policies, and deletes the user', async () => {
    const { page, complaints } = await visit('logins/userpass')
    await page.getByRole('row', { name: 'lee' }).waitFor()
    const added = page.getByRole('region', { name: 'New user' })
    await added.getByRole('textbox', { name: 'User' }).fill('Sam')
    await added.getByLabel('Password').fill(' first ')
    await added.getByRole('combobox', { name: 'Policies' }).fill('deploy, audit')
    await page.keyboard.press('Tab')
    await added.getByRole('button', { name: 'Create' }).click()

    const user = page.getByRole('region', { name: 'sam', exact: true })
    await user.getByText('deploy audit').waitFor()
    expect((await logInAs('sam', ' first ')).body.auth?.policies).toEqual(['audit', 'default', 'deploy'])

    const changed = page.getByRole('region', { name: 'New password' })
    await changed.getByLabel('Password').fill('2nd-password')
    await changed.getByRole('button', { name: 'Change' }).click()
    await expect.poll(() => changed.getByLabel('Password').inputValue()).toBe('')
    const policies = page.getByRole('region', { name: 'Policies' })
    await policies.getByRole('button', { name: 'Remove audit' }).click()
    await policies.getByRole('button', { name: 'Change' }).click()
    await user.getByText('deploy audit').waitFor({ state: 'detached' })
    expect((await logInAs('sam', ' first ')).status).toBe(400)
    expect((await logInAs('sam', '2nd-password')).body.auth?.policies).toEqual(['default', 'deploy'])

    await user.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('row', { name: 'sam' }).waitFor({ state: 'detached' })
    expect((await server.root.read('auth/userpass/users/sam')).status).toBe(404)
    expect(await page.content()).not.toContain('2nd-password')
    expect(complaints).toEqual([])
  })

  test('an operator gives a program a SecretID, looks at it by its accessor, and destroys it', async () => {
    const { page, complaints } = await visit('logins/approle/roles/nightly')
    const role = page.getByRole('region', { name: 'nightly', exact: true })
    const roleId = (await server.root.read('auth/approle/role/nightly/role-id')).body.data?.['role_id']
    await role.getByText(String(roleId)).waitFor()
    const added = page.getByRole('region', { name: 'New SecretID' })
    await added.getByRole('textbox', { name: 'Lifetime' }).fill('1h')
    await added.getByRole('spinbutton', { name: 'Uses' }).fill('2')
    await added.getByRole('button', { name: 'Create' }).dblclick()
    await page.getByRole('button', { name: 'Show SecretID' }).click()
    const secret = String(await role.locator('.secret code').textContent())
    const use = () => server.anonymous.write('auth/approle/login', { role_id: roleId, secret_id: secret })
    expect((await use()).body.auth?.policies).toEqual(['default', 'deploy'])
    await expectAccessible(page)

    // two clicks created one
    await page.getByRole('list', { name: 'SecretIDs' }).getByRole('link').click()
    await page.getByText('secret_id_num_uses').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Destroy' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Destroy' }).click()
    await page.getByRole('list', { name: 'SecretIDs' }).waitFor({ state: 'detached' })
    expect((await use()).status).toBe(400)

    await page.getByRole('link', { name: 'System' }).click()
    await added.waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(secret)
    expect(complaints).toEqual([])
  })

  test('an operator creates a role, deletes it, and creates one of the same name', async () => {
    const { page } = await visit('logins/approle')
    const added = page.getByRole('region', { name: 'New role' })
    await added.getByRole('textbox', { name: 'Role' }).fill('batch')
    await added.getByRole('combobox', { name: 'Policies' }).fill('read')
    await page.getByRole('option', { name: 'reader' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await added.getByRole('textbox', { name: 'Lifetime' }).fill('soon')
    await added.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').or(page.locator('.field-error')).first().waitFor()
    await added.getByRole('textbox', { name: 'Lifetime' }).fill('24h')
    await added.getByRole('button', { name: 'Create' }).click()

    const role = page.getByRole('region', { name: 'batch', exact: true })
    await role.getByText('secret_id_ttl').waitFor()
    await role.getByText('1 day', { exact: true }).waitFor()
    expect((await server.root.read('auth/approle/role/batch')).body.data).toMatchObject({
      secret_id_ttl: 86_400,
      token_policies: ['reader'],
    })
    const roleId = async () =>
      (await server.root.read('auth/approle/role/batch/role-id')).body.data?.['role_id']
    const shown = role.locator('code').first()
    await role.getByText(String(await roleId())).waitFor()
    await role.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('link', { name: 'batch', exact: true }).waitFor({ state: 'detached' })
    expect((await server.root.read('auth/approle/role/batch')).status).toBe(404)

    await added.getByRole('textbox', { name: 'Role' }).fill('batch')
    await added.getByRole('button', { name: 'Create' }).click()
    expect(await shown.textContent()).toBe(await roleId())
    await page.getByRole('button', { name: 'Tidy up' }).click()
    await page.getByText('Tidy operation successfully started').waitFor()
  })
})
