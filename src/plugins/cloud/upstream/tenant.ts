import type { UpstreamSettings } from './upstream.ts'

/** The tenant in which something was created. Records of earlier versions do not name it. */
export type CreatedInTenant = { readonly tenant_id?: string | undefined }

const guid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Why the mount cannot remove an object: it was made in another tenant, where "not found" proves nothing. Undefined
 * if the tenants match or cannot be compared: one is unknown, or a domain name.
 */
export function otherTenantReason(
  { tenant_id: tenant }: CreatedInTenant,
  { settings: { tenantId: current } }: { readonly settings: Pick<UpstreamSettings, 'tenantId'> },
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
