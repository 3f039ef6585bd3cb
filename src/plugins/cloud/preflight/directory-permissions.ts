import { suppliesCredential } from '../config/effective-settings.ts'
import { graphNeeds, type Need, UpstreamError, unmet } from '../upstream/index.ts'
import { unlessGone } from '../upstream/removal.ts'
import { filterOf, forEachOf } from '../upstream-work.ts'
import {
  type Finding,
  grantsRights,
  maxLookups,
  type PreflightContext,
  unlessDenied,
} from './preflight-context.ts'

/** What a feature needs. `owning` names the applications that the root could own instead. */
type Wanted = { readonly needs: readonly Need[]; readonly why: string; readonly owning?: string | undefined }

/** Checks the root's permissions in the directory against what the mount and its roles need. */
export async function directoryPermissions(context: PreflightContext): Promise<Finding> {
  const { state, upstream, call } = context
  const claims = await upstream.tokens.claims('directory', call)
  const config = await state.findConfig()
  const roles = (await state.roles()).map(({ role }) => role)
  const wanted: Wanted[] = [{ needs: graphNeeds.own, why: 'service principals' }]
  const statics = (await state.staticRoles.all()).map(({ role }) => role)
  const applications = new Set(
    [...roles.filter((role) => !grantsRights(role)), ...statics].map((role) => role.application_object_id),
  )
  const mayAnyway = unmet(graphNeeds.foreign, claims.roles).length === 0
  const toOwn = async (ids: Iterable<string>, why: string) => {
    const foreign = mayAnyway ? [] : await notOwned(ids, claims.objectId, context)
    if (foreign.length > 0) wanted.push({ needs: graphNeeds.foreign, why, owning: foreign.join(', ') })
  }
  await toOwn(applications, 'passwords of applications that roles name')
  const groups = new Set(
    roles.filter(grantsRights).flatMap((role) => (role.groups ?? []).map(({ object_id: id }) => id)),
  )
  if (groups.size > 0) wanted.push({ needs: graphNeeds.members, why: 'group memberships' })
  if (await hasRoleAssignable(groups, context))
    wanted.push({ needs: graphNeeds.roleAssignable, why: 'members of role-assignable groups' })
  if (
    !mayAnyway &&
    config !== undefined &&
    config.client_secret !== '' &&
    !suppliesCredential(state.operator)
  ) {
    const [own] = await unlessDenied(
      upstream.directory.findApplications({ appId: upstream.settings.clientId }, call),
      [],
    )
    await toOwn(own === undefined ? [] : [own.id], 'rotate-root')
  }
  return permissionsFinding(claims.roles, wanted)
}

async function notOwned(
  ids: Iterable<string>,
  rootId: string | undefined,
  { upstream, call }: PreflightContext,
): Promise<string[]> {
  const foreign = await filterOf([...ids].slice(0, maxLookups), async (id) => {
    const owners = await unlessGone(unlessDenied(upstream.directory.listApplicationOwners(id, call), []))
    return owners !== undefined && (rootId === undefined || !owners.includes(rootId))
  })
  return foreign.sort()
}

async function hasRoleAssignable(
  ids: Iterable<string>,
  { upstream, call }: PreflightContext,
): Promise<boolean> {
  let isFound = false
  await forEachOf([...ids].slice(0, maxLookups), async (id) => {
    if (isFound) return
    const group = await upstream.directory.getGroup(id, call).catch((error: unknown) => {
      // ignored: a missing right to read groups is reported below
      if (!(error instanceof UpstreamError)) throw error
    })
    if (group?.isRoleAssignable === true) isFound = true
  })
  return isFound
}

function permissionsFinding(granted: readonly string[], wanted: readonly Wanted[]): Finding {
  const has = `has ${granted.length === 0 ? 'none' : granted.toSorted().join(', ')}`
  const lacking = wanted.flatMap(({ needs, why, owning }) =>
    unmet(needs, granted).map(([least]) => {
      const instead =
        owning === undefined ? '' : `, or Application.ReadWrite.OwnedBy as an owner of application ${owning}`
      return `lacks ${least} (for ${why})${instead}`
    }),
  )
  return { ok: lacking.length === 0, detail: [has, ...lacking].join('; ') }
}
