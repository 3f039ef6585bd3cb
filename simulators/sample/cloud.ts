import type { Directory } from '../directory/directory.ts'
import { textIn } from '../operator.ts'
import type { Operator } from './operator.ts'

const roles = [
  ['shop', 'Reader', 'web', '1h'],
  ['web', 'Contributor', 'web', '30m'],
  ['reports', 'Storage Blob Data Owner', 'data', '8h'],
] as const

/** Roles, credentials that jobs use now, and one that the cloud refused to remove. */
export async function cloudCredentials(
  { write, as }: Operator,
  directory: Directory,
  jobs: readonly string[],
): Promise<void> {
  await write('cloud/config', {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
    rotation_period: '720h',
  })
  for (const [name, role_name, group, ttl] of roles)
    await write(`cloud/roles/${name}`, {
      cloud_roles: JSON.stringify([
        { role_name, scope: `/subscriptions/${directory.subscriptionId}/resourceGroups/${group}` },
      ]),
      ttl,
      max_ttl: '24h',
    })
  const credentialOf = (job: string | undefined, role: string) =>
    as(job, { method: 'GET', path: `cloud/creds/${role}` })
  await Promise.all([
    ...jobs.map((job) => credentialOf(job, 'shop')),
    ...jobs.slice(2).map((job) => credentialOf(job, 'web')),
    credentialOf(jobs[0], 'reports'),
  ])
  const lost = await credentialOf(jobs[1], 'reports')
  const clientId = textIn(lost, 'data', 'client_id')
  const [left] = directory
    .inventory()
    .filter((thing) => thing.kind === 'application' && thing.clientId === clientId)
  directory.fault({
    kind: 'status',
    operation: 'deleteApplication',
    path: left?.id ?? 'none',
    status: 403,
    code: 'Authorization_RequestDenied',
    message: 'Insufficient privileges to complete the operation.',
    times: null,
  })
  await write(`sys/leases/revoke-force/${textIn(lost, 'lease_id')}`, {})
}
