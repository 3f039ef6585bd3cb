import { ServiceError } from '../../../errors.ts'
import type { AppRole } from '../app-roles/app-role.ts'
import { checkAreHarmless, offeredRole } from '../app-roles/resolve-app-roles.ts'
import type { NamedRole } from '../mount-state.ts'
import type { Resource } from '../upstream/directory/directory-answers.ts'
import { graphNeeds, unmet } from '../upstream/index.ts'
import { forEachOf } from '../upstream-work.ts'
import { type Finding, grantsRights, maxLookups, type PreflightContext } from './preflight-context.ts'

/** Undefined if no role lists app roles. docs/contract/cloud.md#preflight */
export function appRolesCheck(
  roles: readonly NamedRole[],
  context: PreflightContext,
): (() => Promise<Finding>) | undefined {
  const listing = roles.filter(({ role }) => grantsRights(role) && (role.app_roles ?? []).length > 0)
  return listing.length === 0 ? undefined : () => checkAppRoles(listing, context)
}

/** Whether the root may grant the app roles, and whether their resources still offer them. */
async function checkAppRoles(roles: readonly NamedRole[], context: PreflightContext): Promise<Finding> {
  const { upstream, call, mount } = context
  const { roles: granted } = await upstream.tokens.claims('directory', call)
  const lacking = unmet(graphNeeds.appRoles, granted).map(([least]) => least)
  if (lacking.length > 0)
    return {
      ok: false,
      detail: `lacks ${lacking.join(', ')}`,
      fix: `grant ${lacking.join(' and ')} with admin consent: az ad app permission add, then az ad app permission admin-consent`,
    }
  const ids = new Set(roles.flatMap(({ role }) => (role.app_roles ?? []).map(({ app_id }) => app_id)))
  const resources = new Map<string, Resource | undefined>()
  await forEachOf([...ids].slice(0, maxLookups), async (id) => {
    resources.set(id, await upstream.directory.findResource(id, call))
  })
  const problems = roles.flatMap(({ name, role }) => [
    ...(role.app_roles ?? []).flatMap((one) =>
      resources.has(one.app_id) ? problemOf(one, resources.get(one.app_id), name) : [],
    ),
    ...harmOf(role, mount, name),
  ])
  return problems.length === 0
    ? { ok: true, detail: `all app roles are offered (roles: ${roles.length}, resources: ${ids.size})` }
    : {
        ok: false,
        detail: problems.map(({ detail }) => detail).join('; '),
        fix: [...new Set(problems.map(({ fix }) => fix))].join('; '),
      }
}

type Problem = { readonly detail: string; readonly fix: string }

function problemOf(one: AppRole, resource: Resource | undefined, name: string): Problem[] {
  const { app_id, role_name, resource_id } = one
  const fix = `write role ${name} with app roles that exist`
  if (resource === undefined)
    return [{ detail: `role ${name}: no service principal found for app_id ${app_id}`, fix }]
  if (offeredRole(resource, one) === undefined)
    return [{ detail: `role ${name}: ${app_id} no longer offers ${role_name}`, fix }]
  // it was deleted and made anew
  return resource.id.toLowerCase() === resource_id.toLowerCase()
    ? []
    : [
        {
          detail: `role ${name}: ${app_id} has another service principal now`,
          fix: `write role ${name} with the same app roles again`,
        },
      ]
}

/** The operator may have withdrawn the permission for privileged app roles. */
function harmOf(role: NamedRole['role'], mount: PreflightContext['mount'], name: string): Problem[] {
  try {
    checkAreHarmless(role, mount)
    return []
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return [
      {
        detail: `role ${name}: ${error.message}`,
        fix: `write role ${name} without it, or set the mount option allow_privileged_app_roles`,
      },
    ]
  }
}
