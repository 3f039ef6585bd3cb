import type { Operator } from './operator.ts'
import { samplePassword } from './people.ts'
import { sampleSecrets } from './secrets.ts'

/** Each tenant is a namespace with its own secrets, people, jobs and announcements. */
export async function tenants(operator: Operator, names: readonly string[]): Promise<void> {
  const { write } = operator
  for (const name of names) {
    await write(`sys/namespaces/${name}`, {})
    await sampleSecrets(operator, `${name}/`)
    await write(`${name}/sys/policies/acl/reader`, {
      policy: 'path "team/*" { capabilities = ["read", "list"] }',
    })
    await write(`${name}/sys/auth/people`, {
      type: 'userpass',
      description: `People of ${name}`,
      config: { listing_visibility: 'unauth' },
    })
    await write(`${name}/auth/people/users/mia`, { password: samplePassword, token_policies: ['reader'] })
    await write(`${name}/sys/auth/jobs`, { type: 'approle', description: `Jobs of ${name}` })
    await write(`${name}/auth/jobs/role/nightly`, { token_policies: ['reader'] })
    await write(`${name}/sys/config/ui/custom-messages`, {
      title: `Welcome, ${name}`,
      message: Buffer.from('This is your own space: nobody of another tenant sees it.').toString('base64'),
      authenticated: true,
      start_time: new Date().toISOString(),
    })
  }
}
