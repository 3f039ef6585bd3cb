import { afterAll, beforeAll, expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  // that every server of the tests has; the mount for JWTs stays, as it is on every new server, without roles
  await server.root.delete('sys/mounts/secret')
})
afterAll(() => server[Symbol.asyncDispose]())

test('on an empty server the home page leads root through the first steps, each done in place', async () => {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using opened = await openAs(`${server.url}/ui/`, 'root')
  const { page, complaints } = opened
  const steps = page.getByRole('region', { name: 'First steps' })
  await steps.getByText('0 of 5 done').waitFor()
  await expectAccessible(page)

  await steps.getByText('A place for secrets').click()
  await steps.getByRole('button', { name: 'Enable' }).click()
  await steps.getByText('A place for secrets (done)').waitFor()

  await steps.getByText('A login for CI').click()
  await steps.getByRole('combobox', { name: 'CI system' }).selectOption('GitLab CI')
  await steps.getByRole('textbox', { name: 'namespace_id' }).fill('72')
  await steps.getByRole('textbox', { name: 'project_id' }).fill('20')
  await steps.getByRole('textbox', { name: 'Issuer' }).fill('https://127.0.0.1:1')
  await steps.getByRole('button', { name: 'Remove gatehouse' }).click()
  await steps.getByRole('button', { name: 'Enable' }).click()
  const audience = steps.getByRole('combobox', { name: 'Audience' })
  await expect.poll(() => audience.getAttribute('aria-invalid')).toBe('true')
  await audience.fill('gatehouse')
  await audience.press('Enter')
  await expectAccessible(page)
  await steps.getByRole('button', { name: 'Enable' }).click()
  await steps.getByRole('alert').waitFor()
  expect((await server.root.read('sys/auth/gitlab')).status).toBe(400)
  await steps.getByRole('textbox', { name: 'Issuer' }).fill(issuer.url)
  await steps.getByRole('button', { name: 'Enable' }).click()
  await steps.getByText('A login for CI (done)').waitFor()
  expect((await server.root.read('auth/gitlab/role/ci')).body.data).toMatchObject({
    bound_claims: { namespace_id: '72', project_id: '20', ref: 'main', ref_protected: 'true' },
    bound_audiences: ['gatehouse'],
    user_claim: 'project_id',
  })

  await steps.getByText('A login for people').click()
  await steps.getByRole('textbox', { name: 'User name' }).fill('ada')
  await steps.getByRole('textbox', { name: 'Password' }).fill('lovelace 1815')
  await steps.getByRole('button', { name: 'Enable' }).click()
  await steps.getByText('A login for people (done)').waitFor()
  expect((await server.root.write('auth/userpass/login/ada', { password: 'lovelace 1815' })).status).toBe(200)

  await steps.getByText('An audit device', { exact: true }).click()
  await steps.getByRole('textbox', { name: 'File' }).fill('discard')
  await steps.getByRole('button', { name: 'Enable' }).click()
  await steps.getByText('An audit device (done)').waitFor()

  await steps.getByText('A banner', { exact: true }).click()
  await steps.getByRole('textbox', { name: 'Title' }).fill('Of the shop team')
  await steps.getByRole('textbox', { name: 'Text' }).fill('Ask Ada')
  await steps.getByRole('button', { name: 'Show it' }).click()
  await steps.getByText('Everything is done.').waitFor()
  await expectAccessible(page)
  await page.reload()
  await page.getByRole('region', { name: 'What I can open' }).waitFor()

  expect(await steps.count()).toBe(0)
  expect(complaints).toEqual([])
})

test('the home page of a user leads to what they can open, and names no rule of the default policy', async () => {
  await server.root.write('sys/mounts/team', { type: 'kv-v2' })
  await server.root.write('team/data/shop/db', { data: { password: 's3cret' } })
  await server.root.write('sys/policies/acl/shop', {
    policy:
      'path "team/data/shop/*" { capabilities = ["read"] }\npath "team/data/+/own" { capabilities = ["read"] }',
  })
  const made = await server.root.write('auth/token/create', { policies: ['shop'] })
  await using opened = await openAs(`${server.url}/ui/#/home`, String(made.body.auth?.client_token))
  const { page } = opened
  const open = page.getByRole('region', { name: 'What I can open' })
  await open.getByRole('link', { name: 'team/', exact: true }).waitFor()
  const links = await open.getByRole('link').allInnerTexts()
  const isRuleShown = await open.getByText('lookup-self').isVisible()
  await open.getByRole('link', { name: 'shop/', exact: true }).click()
  await page.getByRole('heading', { name: 'shop/', level: 1 }).waitFor()

  expect(links).toEqual(['team/', 'shop/'])
  expect(isRuleShown).toBe(false)
})
