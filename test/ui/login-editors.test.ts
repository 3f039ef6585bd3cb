import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LoginFixture, openLoginFixture } from '../plugins/jwt-auth/explain/fixture.ts'
import { expectAccessible, sessionsOfFile } from './pages.ts'

const openAs = sessionsOfFile()

let fixture: LoginFixture
beforeAll(async () => {
  fixture = await openLoginFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

test('the page of a role says who changed it, and an operator takes a change back', async () => {
  const mount = await fixture.mount()
  const path = `auth/${mount}/role/ci`
  const made = await fixture.root.write('auth/token/create', { policies: ['root'], display_name: 'ada' })
  const ada = fixture.server.as(String(made.body.auth?.client_token))
  await ada.write(path, { role_type: 'jwt', bound_claims: { repository: 'acme/other' } })
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins/${mount}/roles/ci`, 'root')
  const { page, complaints } = opened

  const history = page.getByRole('region', { name: 'History' })
  await history.getByText(/^Changed by token-ada 0:\d\d ago: bound_claims\.repository$/).waitFor()
  await expectAccessible(page)
  await history.getByRole('button', { name: 'Revert to version 1' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('bound_claims.repository').waitFor()
  await dialog.getByText('acme/other').waitFor()
  await dialog.getByText('acme/shop').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Revert to version 1' }).click()
  await history.getByText('Version 1 is in force again.').waitFor()
  await history.getByText(/^Changed by token 0:\d\d ago: bound_claims\.repository$/).waitFor()

  expect((await fixture.root.read(path)).body.data?.['bound_claims']).toEqual({ repository: 'acme/shop' })
  expect(complaints).toEqual([])
})
