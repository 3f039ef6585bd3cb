import type { Page } from 'playwright-core'

type Visit = {
  readonly table: string
  readonly place: string
  /** Undefined: `root`. */
  readonly policy?: string
  /** What makes the page show the table. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

/** Where each table is shown. `writeSecret` is what somebody else does meanwhile. */
export const tableVisits = (messageId: string, writeSecret: () => Promise<unknown>): readonly Visit[] => [
  { table: 'secret-mounts', place: 'secrets' },
  { table: 'folder', place: 'secrets/team~/shop~' },
  {
    table: 'found-names',
    place: 'secrets/team~',
    prepare: async (page) => {
      await page.getByRole('textbox', { name: 'Search names here and below' }).fill('db')
      await page.getByRole('button', { name: 'Search', exact: true }).click()
    },
  },
  { table: 'versions', place: 'secrets/team~/shop~db' },
  { table: 'difference', place: 'secrets/team~/shop~db?version=5&compare=2' },
  { table: 'cloud-roles', place: 'cloud/cloud/roles' },
  { table: 'cloud-pools', place: 'cloud/cloud/pool' },
  { table: 'static-roles', place: 'cloud/cloud/static' },
  { table: 'live-leases', place: 'cloud/cloud/leases' },
  { table: 'debris', place: 'cloud/cloud/debris' },
  {
    table: 'unowned-objects',
    place: 'cloud/cloud/debris',
    prepare: (page) => page.getByRole('button', { name: 'Find unowned objects' }).click(),
  },
  { table: 'login-failures', place: 'logins/jwt/failures' },
  { table: 'login-roles', place: 'logins/jwt/roles' },
  { table: 'cel-roles', place: 'logins/jwt/cel' },
  { table: 'users', place: 'logins/people/users' },
  { table: 'app-roles', place: 'logins/programs/roles' },
  { table: 'secret-ids', place: 'logins/programs/roles/nightly' },
  { table: 'messages', place: 'messages' },
  { table: 'acknowledgements', place: `messages/${messageId}` },
  {
    table: 'policies',
    place: 'access/policies',
    // a name becomes a link once it is known that the token may read it
    prepare: (page) => page.getByRole('link', { name: 'default', exact: true }).waitFor(),
  },
  { table: 'tokens', place: 'access/tokens' },
  { table: 'entities-or-groups', place: 'access/entities' },
  { table: 'lease-folders', place: 'leases' },
  { table: 'leases', place: 'leases/engine~creds~ci~' },
  { table: 'irrevocable-leases', place: 'leases' },
  { table: 'mounts', place: 'system/secrets' },
  { table: 'namespaces', place: 'system/namespaces' },
  { table: 'audit-devices', place: 'system/audit' },
  { table: 'rate-limits', place: 'system/limits' },
  { table: 'deleted-objects', place: 'system/deleted' },
  // this view asks before it is left, so it comes last: the next visit opens a page of its own
  {
    table: 'conflict',
    place: 'secrets/team~/shop~db',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      await writeSecret()
      await page.getByRole('button', { name: /^Save as version/ }).click()
    },
  },
  { table: 'lease-prefixes', place: 'leases', policy: 'engine-leases' },
]
