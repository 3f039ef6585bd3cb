import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LoginFixture, openLoginFixture } from '../plugins/jwt-auth/explain/fixture.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

async function makeMounts() {
  await fixture.root.write('sys/auth/fresh', { type: 'jwt' })
  return {
    reverted: await fixture.mount(),
    presets: await fixture.mount(),
    failing: await fixture.mount({
      role: {
        bound_claims: { repository: 'acme/shop', ref: 'refs/heads/main' },
        token_num_uses: 9,
        max_age: 60,
      },
    }),
    lockout: await fixture.mount(),
    programs: await fixture.mount(),
    takenBack: await fixture.mount({ role: { bound_claims: { repository: 'acme/other' } } }),
    deleted: await fixture.mount(),
    explained: await fixture.mount({ config: { bound_issuer: `${fixture.issuer.url}/` } }),
  }
}

let fixture: LoginFixture
// an open page does not see at once which mounts are new
let mounts: Awaited<ReturnType<typeof makeMounts>>
beforeAll(async () => {
  fixture = await openLoginFixture()
  mounts = await makeMounts()
})
afterAll(() => fixture[Symbol.asyncDispose]())
const visit = sharedPage(() => fixture.server.url)

test('an operator tries an ID token on an unsaved role for browsers', async () => {
  const mount = await fixture.mount({
    config: { oidc_discovery_url: fixture.issuer.url, oidc_client_id: 'gatehouse', oidc_client_secret: 's' },
  })
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins/${mount}/roles`, 'root')
  const { page, complaints } = opened
  await page.getByRole('link', { name: 'New role' }).click()
  await page.getByRole('textbox', { name: 'Name of the role' }).fill('people')
  await page.getByRole('combobox', { name: 'How they log in' }).selectOption('oidc')
  await page.getByRole('textbox', { name: 'Claim that names the caller' }).fill('sub')
  const uris = page.getByRole('combobox', { name: 'Redirect URIs' })
  await uris.fill('https://gatehouse.example/ui/callback')
  await uris.press('Tab')

  const tried = page.getByRole('region', { name: 'Try a token' })
  await tried.getByRole('textbox', { name: 'ID token' }).fill(await fixture.sign({ nonce: 'n' }))
  await tried.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'This login is allowed' }).waitFor()
  await expectAccessible(page)
  await tried.getByRole('textbox', { name: 'ID token' }).fill(await fixture.sign({ aud: 'another-client' }))
  await tried.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'Refused: authorized_party_mismatch (400)' }).waitFor()

  expect((await fixture.root.read(`auth/${mount}/role/people`)).status).toBe(404)
  expect(complaints).toEqual([])
})

test('somebody who leaves the page of a role while it is deleted, and comes back, stays and sees that it is gone', async () => {
  const mount = await fixture.mount()
  await fixture.root.write(`auth/${mount}/role/other`, {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['gatehouse'],
  })
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins/${mount}/roles/ci`, 'root')
  const { page, complaints } = opened
  const role = (name: string) => page.getByRole('region', { name, exact: true })
  const show = async (name: string) => {
    await page.getByRole('link', { name, exact: true }).click()
    await role(name).getByText('user_claim').waitFor()
  }
  const asked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  await page.route(`**/v1/auth/${mount}/role/ci?*`, async (route) => {
    if (route.request().method() !== 'DELETE') return route.continue()
    asked.resolve()
    await held.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await asked.promise
  await page.keyboard.press('Escape')
  await show('other')
  await show('ci')
  held.resolve()

  await role('ci').getByText('There is no role with this name.').waitFor()
  expect(await role('ci').getByText('user_claim').count()).toBe(0)
  expect(complaints).toEqual([])
})

test('a configuration is not saved without a secret that it had, nor unseen if somebody would lose access', async () => {
  const mount = await fixture.mount({
    config: {
      oidc_discovery_url: fixture.issuer.url,
      oidc_client_id: 'gatehouse',
      oidc_client_secret: 'hush',
      provider_config: {
        provider: 'okta',
        org_url: 'https://acme.okta.com',
        api_token: 'hidden',
        fetch_groups: true,
      },
    },
  })
  await fixture.login(mount, { jwt: await fixture.sign() })
  const config = async () => (await fixture.root.read(`auth/${mount}/config`)).body.data
  const before = await config()
  await using opened = await openAs(`${fixture.server.url}/ui/#/logins/${mount}/status`, 'root')
  const { page, complaints } = opened

  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Required issuer of JWTs' }).fill('https://elsewhere.example')
  await page.getByRole('textbox', { name: 'Client secret' }).fill('hush')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('api_token may be set, and nobody can read it').waitFor()
  await page.getByText('More', { exact: true }).click()
  const directory = { ...Object(before?.['provider_config']), api_token: 'hidden' }
  await page.getByRole('textbox', { name: 'Groups from a directory' }).fill(JSON.stringify(directory))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText(/guard/).waitFor()
  await page.getByRole('button', { name: 'Check what this would mean' }).click()
  await page.getByText('1 would not:').waitFor()

  expect(await config()).toEqual(before)
  expect(complaints).toEqual([])
})

test('the page of a role says who changed it, and an operator takes a change back', async () => {
  const mount = mounts.reverted
  const path = `auth/${mount}/role/ci`
  const made = await fixture.root.write('auth/token/create', { policies: ['root'], display_name: 'ada' })
  const ada = fixture.server.as(String(made.body.auth?.client_token))
  await ada.write(path, { role_type: 'jwt', bound_claims: { repository: 'acme/other' } })
  const { page, complaints } = await visit(`logins/${mount}/roles/ci`)

  const history = page.getByRole('region', { name: 'History' })
  await history.getByText(/^Changed by token-ada \d+ s ago: bound_claims\.repository$/).waitFor()
  await expectAccessible(page)
  await history.getByRole('button', { name: 'Revert to version 1' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('bound_claims.repository').waitFor()
  await dialog.getByText('acme/other').waitFor()
  await dialog.getByText('acme/shop').waitFor()
  await dialog.getByRole('button', { name: 'Revert to version 1' }).click()
  await history.getByText('Version 1 is in force again.').waitFor()
  await history.getByText(/^Changed by token \d+ s ago: bound_claims\.repository$/).waitFor()

  expect((await fixture.root.read(path)).body.data?.['bound_claims']).toEqual({ repository: 'acme/shop' })
  expect(complaints).toEqual([])
})

test('an operator makes a role for GitHub from the preset, tries a token on it, and sees the linter beside the fields', async () => {
  const mount = mounts.presets
  const { page, complaints } = await visit(`logins/${mount}/roles`)
  await page.getByRole('link', { name: 'New role' }).click()
  await page.getByRole('combobox', { name: 'Preset' }).selectOption('GitHub Actions')
  await page.getByRole('textbox', { name: 'Name of the role' }).fill('shop')
  await page.getByRole('textbox', { name: 'repository_owner_id' }).fill('65411')
  await page.getByRole('textbox', { name: 'repository', exact: true }).fill('acme/shop')
  const policies = page.getByRole('combobox', { name: 'Policies' })
  await policies.fill('no-such-policy')
  await policies.press('Enter')
  await policies.press('Escape')
  await page.getByText('policy_missing').waitFor()
  await page.getByRole('button', { name: 'Remove no-such-policy' }).click()
  await policies.fill('deploy')
  await page.getByRole('option', { name: 'deploy' }).click()
  await page.getByText('policy_missing').waitFor({ state: 'detached' })
  await page.getByText('Nobody has logged in with it in the last 30 days.').waitFor()

  const jwt = await fixture.sign({
    repository_owner_id: '65411',
    repository_id: '701245',
    ref: 'refs/heads/dev',
  })
  await page.getByRole('textbox', { name: 'JWT' }).fill(jwt)
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'Refused: bound_claim_mismatch (400)' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Put the proposed change into the form' }).click()
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'This login is allowed' }).waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('region', { name: 'shop', exact: true }).getByText('repository_owner_id').waitFor()

  expect((await fixture.root.read(`auth/${mount}/role/shop`)).body.data).toMatchObject({
    role_type: 'jwt',
    bound_audiences: ['gatehouse'],
    bound_claims: {
      repository_owner_id: '65411',
      repository: 'acme/shop',
      ref: ['refs/heads/main', 'refs/heads/dev'],
    },
    user_claim: 'repository_id',
    token_policies: ['deploy'],
    token_ttl: 900,
  })
  expect((await fixture.login(mount, { role: 'shop', jwt })).status).toBe(200)
  expect(complaints).toEqual([])
})

test('from a failed login an operator fixes the role: before and after, who else is concerned, and the same login passes', async () => {
  const mount = mounts.failing
  const path = `auth/${mount}/role/ci`
  await fixture.login(mount, { jwt: await fixture.sign() })
  const jwt = await fixture.sign({ ref: 'refs/heads/release' })
  await fixture.login(mount, { jwt })
  const before = (await fixture.root.read(path)).body.data
  const { page, complaints } = await visit(`logins/${mount}/failures`)

  await page.getByRole('table', { name: 'Failed logins' }).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Refused: bound_claim_mismatch (400)' }).waitFor()
  await page
    .getByText('With the role as it is now, a fresh token with the same claims would be refused, too.')
    .waitFor()
  await page.getByRole('button', { name: 'Fix this role' }).click()
  const proposal = page.getByRole('region', { name: /^This change would let the refused login in/ })
  await proposal.getByText('bound_claims.ref').waitFor()
  await page.getByText('1 of 1 subjects of the last 30 days still log in.').waitFor()
  await page.getByText('1 of 1 refused logins would succeed.').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The role is saved.').waitFor()
  await page
    .getByText('With the role as it is now, a fresh token with the same claims would be let in.')
    .waitFor()

  expect((await fixture.root.read(path)).body.data).toEqual({
    ...before,
    bound_claims: { repository: 'acme/shop', ref: ['refs/heads/main', 'refs/heads/release'] },
  })
  expect((await fixture.login(mount, { jwt })).status).toBe(200)
  expect(complaints).toEqual([])
})

test('a change that would lock somebody out says who before it is saved', async () => {
  const mount = mounts.lockout
  await fixture.login(mount, { jwt: await fixture.sign() })
  const { page, complaints } = await visit(`logins/${mount}/roles/ci`)

  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'repository', exact: true }).fill('acme/other')
  await page.getByText('1 would not:').waitFor()
  await page.getByRole('listitem').getByText('repo:acme/shop').waitFor()
  await page.getByText('expects "acme/other"').waitFor()
  await page.getByRole('button', { name: 'Save, although 1 may lose access' }).click()
  await page.getByRole('region', { name: 'ci', exact: true }).getByText('acme/other').first().waitFor()

  expect((await fixture.root.read(`auth/${mount}/role/ci`)).body.data?.['bound_claims']).toEqual({
    repository: 'acme/other',
  })
  expect(complaints).toEqual([])
})

test('an operator configures a mount from a preset, and a later edit loses nothing that the form does not show', async () => {
  const { page, complaints } = await visit('logins/fresh/status')
  const config = async () => (await fixture.root.read('auth/fresh/config')).body.data
  await page.getByText('Not configured yet: nobody can log in.').waitFor()
  await page.getByRole('link', { name: 'Configure' }).click()
  await page.getByRole('combobox', { name: 'Preset' }).selectOption('GitHub Actions')
  const issuer = page.getByRole('textbox', { name: 'Issuer', exact: true })
  expect(await issuer.inputValue()).toBe('https://token.actions.githubusercontent.com')
  await issuer.fill(fixture.issuer.url)
  await page.getByRole('textbox', { name: 'Required issuer of JWTs' }).fill(`${fixture.issuer.url}/`)
  await page.getByRole('button', { name: 'Check what this would mean' }).click()
  await page.getByText('Nobody has logged in with it in the last 30 days.').waitFor()
  await page.getByText('More', { exact: true }).click()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  // the form is called Configuration, too
  await page.getByRole('link', { name: 'Edit' }).waitFor()
  await page.getByRole('region', { name: 'Configuration' }).getByText(`${fixture.issuer.url}/`).waitFor()
  const first = await config()

  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Required issuer of JWTs' }).fill(fixture.issuer.url)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('region', { name: 'History' }).getByText('bound_issuer').waitFor()
  await page.getByRole('button', { name: 'Fetch the keys now' }).click()
  await page.getByRole('heading', { name: 'Keys are available' }).waitFor()
  const timeline = page.getByRole('region', { name: 'Timeline of the keys' })
  await timeline.getByText('In use').first().waitFor()
  const memory = page.getByRole('region', { name: 'Remembered logins' })
  await memory.getByRole('spinbutton', { name: 'Days' }).fill('14')
  await memory.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Done: Save', { exact: true }).waitFor({ state: 'attached' })
  await memory.getByRole('spinbutton', { name: 'Days' }).and(page.locator('[value="14"]')).waitFor()
  await expectAccessible(page)

  expect((await fixture.root.read('sys/auth/fresh/tune')).body.data?.['options']).toEqual({
    history_days: '14',
  })
  expect(first).toMatchObject({ oidc_discovery_url: fixture.issuer.url, namespace_in_state: true })
  expect(await config()).toEqual({ ...first, bound_issuer: fixture.issuer.url })
  expect(complaints).toEqual([])
})

test('an operator writes the program of a CEL role, tries it with a token, and somebody logs in', async () => {
  const mount = mounts.programs
  const { page, complaints } = await visit(`logins/${mount}/cel`)
  await page.getByRole('link', { name: 'New CEL role' }).click()
  await page.getByRole('textbox', { name: 'Name of the role' }).fill('people')
  await page.getByRole('textbox', { name: 'Add to Variables' }).fill('repo')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('textbox', { name: 'repo', exact: true }).fill('claims.repository')
  await page
    .getByRole('textbox', { name: 'Program' })
    .fill('repo == "acme/shop" ? pb.Auth{policies: ["deploy"]} : "not yours"')
  const jwt = await fixture.sign()
  const tried = page.getByRole('region', { name: 'Try the program' })
  await tried.getByRole('textbox', { name: 'Claims as JSON, or a JWT' }).fill(jwt)
  await tried.getByRole('button', { name: 'Run it' }).click()
  await tried.getByText('The program lets this login in').waitFor()
  await tried.getByText('"acme/shop"').waitFor()
  await tried.getByRole('textbox', { name: 'Claims as JSON, or a JWT' }).fill('{"repository": "acme/other"}')
  await tried.getByRole('button', { name: 'Run it' }).click()
  await tried.getByText('The program refuses this login with a message').waitFor()
  const signed = page.getByRole('region', { name: 'Try a token' })
  await signed.getByRole('textbox', { name: 'JWT' }).fill(jwt.replace(/.{8}$/, 'AAAAAAAA'))
  await signed.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'Refused: signature_invalid (400)' }).waitFor()
  await signed.getByRole('textbox', { name: 'JWT' }).fill(jwt)
  await signed.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'This login is allowed' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('region', { name: 'people', exact: true }).getByText('cel_program').first().waitFor()
  await expectAccessible(page)

  expect((await fixture.root.read(`auth/${mount}/cel/role/people`)).body.data).toMatchObject({
    bound_audiences: ['gatehouse'],
    cel_program: { variables: [{ name: 'repo', expression: 'claims.repository' }] },
  })
  expect(
    (await fixture.server.anonymous.write(`auth/${mount}/cel/login`, { role: 'people', jwt })).status,
  ).toBe(200)
  expect(complaints).toEqual([])
})

test('a revert that would lock people out says so, and is made by somebody who knows', async () => {
  const mount = mounts.takenBack
  const path = `auth/${mount}/role/ci`
  await fixture.root.write(path, { role_type: 'jwt', bound_claims: { repository: 'acme/shop' } })
  await fixture.login(mount, { jwt: await fixture.sign() })
  const { page, complaints } = await visit(`logins/${mount}/roles/ci`)
  const dialog = page.getByRole('alertdialog')

  await page.getByRole('button', { name: 'Revert to version 1' }).click()
  await dialog.getByText('acme/other').waitFor()
  await dialog.getByRole('button', { name: 'Revert to version 1' }).click()
  await dialog.getByText(/1 recent subjects would or might lose access/).waitFor()
  await expectAccessible(page)
  expect((await fixture.root.read(path)).body.data?.['bound_claims']).toEqual({ repository: 'acme/shop' })
  await dialog.getByRole('spinbutton', { name: 'Most people who may lose access' }).fill('1')
  await dialog.getByRole('button', { name: 'Revert to version 1' }).click()
  await page.getByText('Version 1 is in force again.').waitFor()

  expect((await fixture.root.read(path)).body.data?.['bound_claims']).toEqual({ repository: 'acme/other' })
  expect(complaints).toEqual([])
})

test('a role that people log in with is deleted only by somebody who knows of them, and comes back from the list of what is deleted', async () => {
  const mount = mounts.deleted
  const path = `auth/${mount}/role/ci`
  await fixture.login(mount, { jwt: await fixture.sign() })
  const { page, complaints } = await visit(`logins/${mount}/roles/ci`)
  const dialog = page.getByRole('alertdialog')

  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByText(/1 recent subjects would or might lose access/).waitFor()
  await expectAccessible(page)
  expect((await fixture.root.read(path)).status).toBe(200)
  await dialog.getByRole('spinbutton', { name: 'Most people who may lose access' }).fill('1')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect((await fixture.root.read(path)).status).toBe(404)

  await page.goto(`${fixture.server.url}/ui/#/logins/${mount}/roles/ci`)
  const role = page.getByRole('region', { name: 'ci', exact: true })
  await role.getByText('There is no role with this name.').waitFor()
  await role.getByText(/^Deleted by token \d+ s ago$/).waitFor()
  await role.getByRole('button', { name: 'Revert to version 1' }).waitFor()
  await page.goto(`${fixture.server.url}/ui/#/system/deleted`)
  await page.getByRole('table', { name: 'Deleted' }).getByRole('link', { name: path }).click()
  const history = page.getByRole('region', { name: 'History' })
  await history.getByText(/^Deleted by token/).waitFor()
  await expectAccessible(page)
  await history.getByRole('button', { name: 'Revert to version 1' }).click()
  await dialog.getByText('bound_claims', { exact: true }).waitFor()
  await dialog.getByRole('button', { name: 'Revert to version 1' }).click()
  await history.getByText('Version 1 is in force again.').waitFor()
  await page.getByRole('link', { name: path }).waitFor({ state: 'detached' })

  expect((await fixture.root.read(path)).body.data).toMatchObject({
    bound_claims: { repository: 'acme/shop' },
  })
  expect(complaints).toEqual([])
})

test('from an explanation an operator fixes the configuration, and the same token is explained again', async () => {
  const mount = mounts.explained
  const { page, complaints } = await visit(`logins/${mount}/explain`)

  await page.getByRole('textbox', { name: 'JWT' }).fill(await fixture.sign())
  await page.getByRole('textbox', { name: 'Role' }).fill('ci')
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByRole('heading', { name: 'Refused: issuer_mismatch (400)' }).waitFor()
  await page.getByRole('button', { name: 'Fix the configuration' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'This login is allowed' }).waitFor()

  expect((await fixture.root.read(`auth/${mount}/config`)).body.data?.['bound_issuer']).toBe(
    fixture.issuer.url,
  )
  expect(complaints).toEqual([])
})
