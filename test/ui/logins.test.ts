import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LoginFixture, openLoginFixture } from '../plugins/jwt-auth/explain/fixture.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

let fixture: LoginFixture
let mount: string
// an open page does not see at once which mounts are new
let mounts: Awaited<ReturnType<typeof makeMounts>>
const markup = '<img src=x onerror="window.ran = 1">'

async function makeMounts() {
  const client = { oidc_client_id: 'gatehouse', oidc_client_secret: 'hush' }
  return {
    switched: await fixture.mount({ config: { default_role: 'other', token_max_lifetime: '1h' } }),
    withClient: await fixture.mount({ config: { ...client, oidc_discovery_url: fixture.issuer.url } }),
    withoutIssuer: await fixture.mount({ config: { bound_issuer: '' } }),
    withProvider: await fixture.mount({ config: { provider_config: { provider: 'azure' } } }),
  }
}

beforeAll(async () => {
  fixture = await openLoginFixture()
  mount = await fixture.mount({
    role: { bound_claims: { repository: 'Acme/Shop' }, bound_audiences: ['gatehouse'] },
  })
  await fixture.login(mount, { jwt: await fixture.sign() })
  await fixture.login(mount, { jwt: await fixture.sign({ aud: markup }) })
  await fixture.login(mount, { role: markup, jwt: await fixture.sign() })
  mounts = await makeMounts()
})
afterAll(() => fixture[Symbol.asyncDispose]())
const visit = sharedPage(() => fixture.server.url)

test('somebody who may not write the configuration sees the setting without a switch', async () => {
  await fixture.root.write('sys/policies/acl/role-readers', {
    policy: `path "auth/${mount}/*" { capabilities = ["read", "list"] }`,
  })
  const made = await fixture.root.write('auth/token/create', { policies: ['role-readers'] })
  await using opened = await openAs(
    `${fixture.server.url}/ui/#/logins/${mount}/roles/ci`,
    String(made.body.auth?.client_token),
  )
  const { page } = opened

  await page.getByText('Off for this mount.').waitFor()

  expect(await page.getByRole('button', { name: 'Accept JWTs as tokens' }).count()).toBe(0)
})

test('an operator picks a failed login and sees its checks, the first failing one, and what to change', async () => {
  const { page, complaints } = await visit('home')
  await page.getByRole('link', { name: 'Logins' }).click()
  await page.getByRole('link', { name: `${mount}/` }).click()
  const table = page.getByRole('table', { name: 'Failed logins' })
  await table.getByText('role_unknown').waitFor()

  // the list is read anew for each letter
  await page.getByRole('textbox', { name: 'Reason' }).pressSequentially('bound_claim_mismatch')
  await table.getByText('role_unknown').waitFor({ state: 'detached' })
  await table.getByRole('link').click()

  await page.getByRole('heading', { name: 'Refused: bound_claim_mismatch (400)' }).waitFor()
  const failed = page.locator('.check.first')
  await failed.getByText('"Acme/Shop"', { exact: true }).waitFor()
  await failed.getByText('"acme/shop"', { exact: true }).waitFor()
  await failed.getByText('They differ only in upper and lower case.').waitFor()
  await page.getByText('What to do:').waitFor()
  await expectAccessible(page)
  const address = page.url()
  await page.reload()
  await page.getByRole('heading', { name: 'Refused: bound_claim_mismatch (400)' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: /^Refused/ }).waitFor({ state: 'detached' })

  expect(address).toContain('reason=bound_claim_mismatch')
  expect(await page.evaluate('typeof window.ran')).toBe('undefined')
  expect(complaints).toEqual([])
})

test('a JWT is decoded in the browser, sent to the explanation only, and kept nowhere', async () => {
  const { page, complaints, requested } = await visit(`logins/${mount}/explain`)
  const jwt = await fixture.sign({ aud: 'GATEHOUSE', name: markup })
  const posted: string[] = []
  page.on('request', (request) => {
    if (request.postData()?.includes(jwt)) posted.push(new URL(request.url()).pathname)
  })

  await page.getByRole('textbox', { name: 'JWT' }).fill(jwt)
  await page.getByText('"aud": "GATEHOUSE"').waitFor()
  await page.getByRole('textbox', { name: 'Role' }).fill('ci')
  await page.getByRole('button', { name: 'Explain' }).click()

  await page.getByRole('heading', { name: 'Refused: audience_mismatch (400)' }).waitFor()
  await expectAccessible(page)
  expect(posted).toEqual([`/v1/auth/${mount}/explain`])
  expect(requested.join('\n')).not.toContain(jwt)
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href])')).not.toContain(
    jwt,
  )
  expect(await page.evaluate('typeof window.ran')).toBe('undefined')
  expect(complaints).toEqual([])
})

test('roles have what the linter says beside the field, and the status says where keys come from', async () => {
  const { page, complaints } = await visit(`logins/${mount}/roles/ci`)

  await page.getByRole('region', { name: 'ci' }).getByText('bound_audiences').waitFor()
  await expectAccessible(page)
  await page.getByRole('link', { name: 'Status' }).click()
  await page.getByRole('heading', { name: 'Keys are available' }).waitFor()
  await page.getByRole('region', { name: 'Configuration' }).getByText(fixture.issuer.url).waitFor()

  expect(complaints).toEqual([])
})

test('the page of a role says what a JWT as the token means, and the switch changes that setting alone', async () => {
  const own = mounts.switched
  const config = async () => (await fixture.root.read(`auth/${own}/config`)).body.data
  const before = await config()
  const jwt = await fixture.sign()
  const used = async () =>
    (
      await fixture.server
        .as(jwt)
        .call('GET', 'auth/token/lookup-self', undefined, { headers: { 'X-Gatehouse-Role': 'ci' } })
    ).status
  const { page, complaints } = await visit(`logins/${own}/roles/ci`)
  const panel = page.getByRole('region', { name: 'A JWT as the token' })
  await panel.getByText('Off for this mount.').waitFor()
  await panel.getByText('one that is made for longer than 1 h is refused').waitFor()
  await panel.getByText('-H "X-Gatehouse-Role: ci"').waitFor()
  const atFirst = await used()

  await panel.getByRole('button', { name: 'Accept JWTs as tokens' }).click()
  const dialog = page.getByRole('alertdialog', { name: `Accept JWTs of ${fixture.issuer.url} as tokens?` })
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Accept JWTs as tokens' }).click()
  await panel.getByText('On for this mount.').waitFor()
  const [whenOn, changed] = [await used(), await config()]
  await panel.getByRole('button', { name: 'Stop accepting JWTs as tokens' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Stop accepting JWTs as tokens' }).click()
  await panel.getByText('Off for this mount.').waitFor()

  expect([atFirst, whenOn, await used()]).toEqual([403, 200, 403])
  expect(changed).toEqual({ ...before, accept_as_token: true })
  expect(await config()).toEqual(before)
  expect(complaints).toEqual([])
})

test('the switch asks for a client secret, which nobody can read, and shows why the server refuses', async () => {
  const own = mounts.withClient
  const { page } = await visit(`logins/${own}/roles/ci`)
  const panel = page.getByRole('region', { name: 'A JWT as the token' })

  await panel.getByRole('button', { name: 'Accept JWTs as tokens' }).click()
  const dialog = page.getByRole('alertdialog')
  const accept = dialog.getByRole('button', { name: 'Accept JWTs as tokens' })
  await accept.click()
  await dialog.getByText("both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC").waitFor()
  await dialog.getByLabel('Client secret').fill('hush')
  await accept.click()
  await panel.getByText('On for this mount.').waitFor()

  const { body } = await fixture.root.read(`auth/${own}/config`)
  expect(body.data).toMatchObject({ accept_as_token: true, oidc_client_id: 'gatehouse' })
})

test('there is no switch where the mount has no bound_issuer, or the settings of a provider may be secret', async () => {
  for (const [own, said] of [
    [mounts.withoutIssuer, 'the configuration needs bound_issuer'],
    [mounts.withProvider, 'write all of it anew with accept_as_token'],
  ] as const) {
    const { page } = await visit(`logins/${own}/roles/ci`)
    await page.getByRole('region', { name: 'A JWT as the token' }).getByText(said).waitFor()

    expect(await page.getByRole('button', { name: 'Accept JWTs as tokens' }).count()).toBe(0)
  }
})
