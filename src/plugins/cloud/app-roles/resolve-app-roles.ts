import type { Mount } from '../../../core/mounts/mount.ts'
import { refuse } from '../../../errors.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import { engineOptions } from '../mount-options.ts'
import type { Resource } from '../upstream/directory/directory-answers.ts'
import { orRefuse, type UpstreamWork } from '../upstream-work.ts'
import type { AppRole } from './app-role.ts'

type Lookup = Pick<UpstreamWork, 'state' | 'upstream' | 'call'> & { readonly mount: Pick<Mount, 'options'> }

const directoryAppId = '00000003-0000-0000-c000-000000000000'
/** Whoever has one of these can give itself every other permission. */
const privileged = new Set([
  'AppRoleAssignment.ReadWrite.All',
  'RoleManagement.ReadWrite.Directory',
  'Application.ReadWrite.All',
])

/**
 * The app roles of a list with their names and ids upstream, in order. Throws the first refusal.
 * docs/contract/cloud.md#app-roles
 */
export async function resolveAppRoles(wanted: readonly AppRole[], lookup: Lookup): Promise<AppRole[]> {
  const resources = new Map<string, Resource>()
  const resolved = new Map<string, AppRole>()
  for (const one of wanted) {
    const resource = resources.get(one.app_id) ?? (await findResource(one.app_id, lookup))
    resources.set(one.app_id, resource)
    const role = roleAt(resource, one)
    const name = `${resource.appId} ${role.role_id}`
    if (resolved.has(name))
      throw refuse('invalid', `duplicate role_id and app_id: '${role.role_id}', '${resource.appId}'`)
    checkIsHarmless(role, lookup)
    resolved.set(name, role)
  }
  return [...resolved.values()]
}

async function findResource(appId: string, { state, upstream, call }: Lookup): Promise<Resource> {
  const found = await orRefuse(
    `unable to lookup ${state.names.word} app role`,
    upstream.directory.findResource(appId, call),
  )
  if (found === undefined)
    throw refuse('invalid', `no service principal found for app_id: '${excerpt(appId)}'`)
  return found
}

/** Applications get enabled roles that are meant for them. */
export const offeredRole = ({ appRoles }: Pick<Resource, 'appRoles'>, { role_id, role_name }: AppRole) =>
  appRoles.find(
    (one) =>
      one.isEnabled &&
      one.allowedMemberTypes.includes('Application') &&
      (role_id === '' ? one.value === role_name : one.id.toLowerCase() === role_id.toLowerCase()),
  )

function roleAt(resource: Resource, wanted: AppRole): AppRole {
  const { id, appId } = resource
  const { role_id, role_name } = wanted
  // an app role upstream may have no name
  const role = role_id === '' && role_name === '' ? undefined : offeredRole(resource, wanted)
  if (role !== undefined) return { app_id: appId, resource_id: id, role_name: role.value, role_id: role.id }
  const asked = role_id === '' ? `role_name: '${excerpt(role_name)}'` : `role_id: '${excerpt(role_id)}'`
  throw refuse('invalid', `no app role found for ${asked}`)
}

/** Checked again whenever a stored role is used, because the operator may have withdrawn the permission. */
export function checkAreHarmless(
  { app_roles }: { readonly app_roles?: readonly AppRole[] | null },
  mount: Lookup['mount'],
): void {
  for (const role of app_roles ?? []) checkIsHarmless(role, { mount })
}

function checkIsHarmless({ app_id, role_name }: AppRole, { mount }: Pick<Lookup, 'mount'>): void {
  if (app_id.toLowerCase() !== directoryAppId || !privileged.has(role_name)) return
  if (engineOptions(mount).allow_privileged_app_roles) return
  throw refuse(
    'invalid',
    `app role ${role_name} can take over the tenant; mount option allow_privileged_app_roles permits it`,
  )
}
