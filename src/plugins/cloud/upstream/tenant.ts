import type { ReadyUpstream } from '../mount-state.ts'

/**
 * Where something was made: the tenant as it was configured then. Unknown of what an earlier version made.
 */
export type Made = { readonly tenant_id?: string | undefined }

const guid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Why the mount cannot remove what was made in another tenant than the one it signs in to now; undefined when
 * it can. There "it does not exist" says nothing. Of a tenant named by a domain it is not known which one
 * that is. Pure.
 */
export function elsewhere(
  { tenant_id: tenant }: Made,
  { settings: { tenantId: current } }: Pick<ReadyUpstream, 'settings'>,
): string | undefined {
  if (
    tenant === undefined ||
    !guid.test(tenant) ||
    !guid.test(current) ||
    tenant.toLowerCase() === current.toLowerCase()
  )
    return undefined
  return `it was made in tenant '${tenant}', and the mount signs in to '${current}'`
}
