import type { Page } from 'playwright-core'

export type Picture = {
  readonly file: string
  /** Nobody: the login page. */
  readonly person?: string
  readonly place?: string
  readonly colorScheme?: 'dark'
  readonly height?: number
  /** Keeps the banner that everyone sees after the login. */
  readonly isNew?: boolean
  readonly prepare?: (page: Page) => Promise<unknown>
}

/** The pictures of the documentation. */
export const pictures: readonly Picture[] = [
  { file: 'ui-login', prepare: (page) => page.getByRole('tab').first().waitFor() },
  {
    file: 'ui-home',
    person: 'ada',
    place: '/home',
    isNew: true,
    prepare: (page) => page.getByText('shop-team').waitFor(),
  },
  {
    file: 'ui-secret',
    person: 'ada',
    place: '/secrets/team~/shop~database',
    prepare: (page) => page.getByText('Versions', { exact: true }).waitFor(),
  },
  {
    file: 'ui-credentials',
    person: 'ada',
    place: '/cloud/cloud/roles/shop',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Get credentials' }).click()
      await page.getByRole('button', { name: 'Revoke' }).waitFor()
    },
  },
  { file: 'ui-explain', person: 'olga', place: '/logins/jwt/failures', height: 1400, prepare: pickFailure },
  {
    file: 'ui-explain-dark',
    person: 'olga',
    place: '/logins/jwt/failures',
    colorScheme: 'dark',
    height: 1400,
    prepare: pickFailure,
  },
  {
    file: 'ui-messages',
    person: 'olga',
    place: '/messages',
    prepare: (page) => page.getByText('Timeline').first().waitFor(),
  },
  { file: 'ui-message-editor', person: 'olga', place: '/messages', prepare: writeMessage },
  {
    file: 'ui-root-credential',
    person: 'olga',
    place: '/cloud/cloud/config',
    prepare: (page) => page.getByText('The root credential has what it needs').waitFor(),
  },
]

async function pickFailure(page: Page): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: 'audience_mismatch' })
  await row.getByRole('link').click()
  await page.getByRole('heading', { name: /^Refused/ }).waitFor()
}

async function writeMessage(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Maintenance on Saturday' }).click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('region', { name: 'Preview' }).waitFor()
}

/** The places of the sample that show a view in another state. The names of what is random are not among them. */
export const places = [
  'home',
  'secrets',
  'secrets/team~',
  'secrets/team~/shop~',
  'secrets/team~/shop~database',
  'secrets/team~/shop~database?version=3&compare=1',
  'secrets/team~/new~secret',
  'cloud/cloud/roles',
  'cloud/cloud/roles/shop',
  'cloud/cloud/roles/shop/edit',
  'cloud/cloud/static',
  'cloud/cloud/config',
  'cloud/cloud/leases',
  'cloud/cloud/debris',
  'cloud/cloud/whois',
  'logins',
  'logins/jwt/failures',
  'logins/jwt/explain',
  'logins/jwt/roles',
  'logins/jwt/roles/deploy',
  'logins/jwt/roles/deploy?form=edit',
  'logins/jwt/cel?form=new',
  'logins/jwt/status',
  'logins/oidc/roles/developers',
  'logins/people/users',
  'logins/people/users/ada',
  'messages',
  'messages/new',
  'messages/calendar',
  'access/policies',
  'access/policies/developer',
  'access/tokens',
  'access/entities',
  'access/groups',
  'leases',
  'leases/cloud~creds~shop~',
  'system/secrets',
  'system/secrets/team~',
  'system/logins',
  'system/logins/people~',
  'system/namespaces',
  'system/server',
  'system/audit',
  'system/limits',
  'tools',
  'nowhere',
] as const
