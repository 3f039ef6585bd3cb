import type { Page } from 'playwright-core'
import { samplePassword } from '../../simulators/sample/people.ts'

/** A state of a page that has no address of its own. */
export type State = {
  readonly name: string
  /** Nobody: the login page. */
  readonly person?: string
  readonly place?: string
  readonly prepare: (page: Page) => Promise<unknown>
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })

/** Another person writes the secret meanwhile. */
const writeElsewhere = `fetch('/v1/auth/people/login/grace', {
  method: 'POST',
  body: JSON.stringify({ password: ${JSON.stringify(samplePassword)} }),
}).then((response) => response.json()).then(({ auth }) => fetch('/v1/team/data/shop/database', {
  method: 'POST',
  headers: { 'X-Vault-Token': auth.client_token },
  body: JSON.stringify({ data: { host: 'db-3.internal', username: 'shop', password: 'amber-Meadow-52', pool: 20 } }),
}))`

async function meetConflict(page: Page): Promise<void> {
  await button(page, 'Edit').click()
  await field(page, 'Value of password').fill('of olga')
  await page.evaluate(writeElsewhere)
  await page.getByRole('button', { name: /^Save as version/ }).click()
  await page.getByRole('region', { name: /^Somebody else has saved version/ }).waitFor()
}

async function explainRefusal(page: Page): Promise<void> {
  await page.getByRole('row').filter({ hasText: 'bound_claim_mismatch' }).getByRole('link').click()
  await page.getByRole('heading', { name: /^Refused/ }).waitFor()
}

/** Of the sample. Those that write come last. */
export const states: readonly State[] = [
  {
    name: 'login-refused',
    prepare: async (page) => {
      await page.getByRole('tab', { name: 'Name and password' }).click()
      await field(page, 'Name').fill('olga')
      await field(page, 'Password').fill('wrong')
      await button(page, 'Log in').click()
      await page.getByRole('alert').waitFor()
    },
  },
  { name: 'login-other', prepare: (page) => page.getByRole('tab', { name: 'Other' }).click() },
  { name: 'login-jwt', prepare: (page) => button(page, 'Log in with a JWT instead').click() },
  { name: 'reader-home', person: 'ada', prepare: (page) => page.getByText('shop-team').waitFor() },
  {
    name: 'reader-rules',
    person: 'ada',
    prepare: (page) => page.getByText('The rules of my policies').click(),
  },
  {
    name: 'keys',
    person: 'olga',
    prepare: async (page) => {
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
    },
  },
  { name: 'namespaces', person: 'olga', prepare: (page) => page.locator('.namespace').click() },
  {
    name: 'copy-as',
    person: 'olga',
    place: 'secrets/team~/runbook',
    prepare: (page) => button(page, 'Copy as…').click(),
  },
  {
    name: 'no-match',
    person: 'olga',
    place: 'access/entities',
    prepare: async (page) => {
      await page.getByRole('textbox', { name: /^Filter/ }).fill('nobody')
      await page.getByText('build-4711').first().waitFor({ state: 'hidden' })
    },
  },
  { name: 'entity', person: 'olga', place: 'access/entities', prepare: (page) => link(page, 'ada').click() },
  {
    name: 'revoke-all',
    person: 'olga',
    place: 'access/entities',
    prepare: async (page) => {
      await link(page, 'ada').click()
      await button(page, 'Revoke all').click()
      await page.getByRole('alertdialog').waitFor()
    },
  },
  {
    name: 'group',
    person: 'olga',
    place: 'access/groups',
    prepare: (page) => link(page, 'shop-team').click(),
  },
  {
    name: 'token',
    person: 'olga',
    place: 'access/tokens',
    prepare: (page) => link(page, 'jwt-deploy-319').first().click(),
  },
  {
    name: 'lease',
    person: 'olga',
    place: 'leases/cloud~creds~shop~',
    prepare: (page) => page.locator('[data-rows=leases] a, [data-rows] a').first().click(),
  },
  {
    name: 'delete-namespace',
    person: 'olga',
    place: 'system/namespaces',
    prepare: async (page) => {
      await button(page, 'Delete acme/').click()
      await page.getByRole('alertdialog').waitFor()
    },
  },
  { name: 'login-explained', person: 'olga', place: 'logins/jwt/failures', prepare: explainRefusal },
  {
    name: 'picker',
    person: 'olga',
    place: 'access/tokens',
    prepare: (page) => page.getByRole('combobox', { name: 'Policies' }).click(),
  },
  {
    name: 'message',
    person: 'olga',
    place: 'messages',
    prepare: (page) => link(page, 'Rules for production secrets').click(),
  },
  {
    name: 'message-editor',
    person: 'olga',
    place: 'messages',
    prepare: async (page) => {
      await link(page, 'Maintenance on Saturday').click()
      await link(page, 'Edit').click()
      await page
        .getByRole('region', { name: /^Preview/ })
        .first()
        .waitFor()
    },
  },
  {
    name: 'cloud-issued',
    person: 'ada',
    place: 'cloud/cloud/roles/shop',
    prepare: async (page) => {
      await button(page, 'Get credentials').click()
      await button(page, 'Revoke').waitFor()
    },
  },
  {
    name: 'new-secret',
    person: 'olga',
    place: 'secrets/team~/shop~',
    prepare: (page) => button(page, 'New secret').click(),
  },
  {
    name: 'generated-value',
    person: 'olga',
    place: 'secrets/team~/new~secret',
    prepare: async (page) => {
      await field(page, 'Field').fill('key')
      await button(page, 'Generate the value of key').click()
    },
  },
  {
    name: 'secret-shown',
    person: 'olga',
    place: 'secrets/team~/shop~payments',
    prepare: (page) => button(page, 'Show webhook_secret').click(),
  },
  { name: 'conflict', person: 'olga', place: 'secrets/team~/shop~database', prepare: meetConflict },
]
