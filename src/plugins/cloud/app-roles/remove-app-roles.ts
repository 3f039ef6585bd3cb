import type { DirectoryApi } from '../upstream/directory/directory.ts'
import type { UpstreamCall } from '../upstream/index.ts'
import { wasRemoved } from '../upstream/removal.ts'
import { forEachOf } from '../upstream-work.ts'

type Meant = { readonly service_principal_id: string; readonly grants: readonly string[] }

/**
 * Removes those of the meant app roles that it has; returns whether it had all. Throws `gone` if it does not exist.
 */
export async function removeAppRoles(
  directory: Pick<DirectoryApi, 'listAppRoleAssignments' | 'removeAppRole'>,
  { service_principal_id: principalId, grants }: Meant,
  call: UpstreamCall,
): Promise<boolean> {
  const held = await directory.listAppRoleAssignments(principalId, call)
  const meant = held.filter(({ resourceId, appRoleId }) => grants.includes(`${resourceId}/${appRoleId}`))
  await forEachOf(meant, ({ id, resourceId }) => wasRemoved(directory.removeAppRole(resourceId, id, call)))
  return meant.length === grants.length
}
