import { refuse } from '../../../errors.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import {
  classify,
  dynamicGroupAdvice,
  type Group,
  onPremisesGroupAdvice,
  type RoleDefinition,
  UpstreamError,
} from '../upstream/index.ts'
import { resourcePath } from '../upstream/resource-path.ts'
import { orRefuse, type UpstreamWork } from '../upstream-work.ts'
import { type GrantedRole, type JoinedGroup, rightKey } from './role-record.ts'

type Lookup = Pick<UpstreamWork, 'state' | 'upstream' | 'call'>

/**
 * The roles of a list with their names and ids upstream, in order. Throws the first refusal.
 * docs/contract/cloud.md#looking-up-roles
 */
export async function resolveRoles(roles: readonly GrantedRole[], lookup: Lookup): Promise<GrantedRole[]> {
  const found = new Map<string, RoleDefinition>()
  const seen = new Set<string>()
  const resolved: GrantedRole[] = []
  for (const { role_name, role_id, scope } of roles) {
    const asked = role_id === '' ? `name ${role_name}` : `id ${role_id}`
    const definition =
      found.get(asked) ??
      (await (role_id === '' ? roleByName(role_name, scope, lookup) : roleById(role_id, scope, lookup)))
    found.set(asked, definition)
    const role = { role_name: definition.roleName, role_id: definition.id, scope }
    const key = rightKey(role)
    if (seen.has(key))
      throw refuse('invalid', `duplicate role_id and scope: '${definition.id}', '${excerpt(scope)}'`)
    seen.add(key)
    resolved.push(role)
  }
  return resolved
}

const definitionPath = /(?:^|\/)providers\/microsoft\.authorization\/roledefinitions\/[^/]+\/?$/i

/** Repeats a refused lookup at the scope of the role: a root with rights there only may not read the subscription. */
async function atScopeIfDenied<Result>(
  look: (scope: string | undefined) => Promise<Result>,
  scope: string,
): Promise<Result> {
  try {
    return await look(undefined)
  } catch (error) {
    if (!(error instanceof UpstreamError) || classify(error).kind !== 'denied') throw error
  }
  return await look(scope)
}

const definitionName = /[^/]+\/?$/

async function roleById(
  id: string,
  scope: string,
  { state, upstream, call }: Lookup,
): Promise<RoleDefinition> {
  const idAt = (place: string | undefined) =>
    place === undefined
      ? id
      : `${place}/providers/Microsoft.Authorization/roleDefinitions/${definitionName.exec(id)?.[0] ?? ''}`
  const unknown = () => refuse('invalid', `no role found for role_id: '${excerpt(id)}'`)
  if (resourcePath(id) === undefined || !definitionPath.test(id)) throw unknown()
  try {
    return await atScopeIfDenied(
      (place) => upstream.resourceManager.getRoleDefinition(idAt(place), call),
      scope,
    )
  } catch (error) {
    if (error instanceof UpstreamError && error.code === 'RoleDefinitionDoesNotExist') throw unknown()
    return orRefuse(`unable to lookup ${state.names.word} role by id`, Promise.reject(error))
  }
}

async function roleByName(
  name: string,
  scope: string,
  { state, upstream, call }: Lookup,
): Promise<RoleDefinition> {
  if (name === '') return onlyMatch([], name, { what: 'role', by: 'ID' })
  const found = atScopeIfDenied(
    (place) => upstream.resourceManager.findRoleDefinitions(name, place, call),
    scope,
  )
  const hits = await orRefuse(`unable to lookup ${state.names.word} role by name`, found)
  return onlyMatch(hits, name, { what: 'role', by: 'ID' })
}

/** The only match of a search by name. Refuses a search without or with several matches. */
function onlyMatch<Found>(
  [hit, another]: readonly Found[],
  name: string,
  { what, by }: { readonly what: 'role' | 'group'; readonly by: 'ID' | 'ObjectID' },
): Found {
  if (hit === undefined) throw refuse('invalid', `no ${what} found for ${what}_name: '${excerpt(name)}'`)
  if (another !== undefined)
    throw refuse(
      'invalid',
      `multiple matches found for ${what}_name: '${excerpt(name)}'. Specify ${what} by ${by} instead.`,
    )
  return hit
}

/** The same for groups. docs/contract/cloud.md#looking-up-groups */
export async function resolveGroups(groups: readonly JoinedGroup[], lookup: Lookup): Promise<JoinedGroup[]> {
  const found = new Map<string, Group>()
  const resolved = new Map<string, JoinedGroup>()
  for (const { group_name, object_id } of groups) {
    const asked = object_id === '' ? `name ${group_name}` : `id ${object_id}`
    const group =
      found.get(asked) ??
      (await (object_id === '' ? groupByName(group_name, lookup) : groupById(object_id, lookup)))
    found.set(asked, group)
    if (group.id === '' && group.displayName === '')
      throw refuse('invalid', 'could not find a group with that ID')
    if (resolved.has(group.id)) throw refuse('invalid', `duplicate object_id '${group.id}'`)
    checkTakesMembers(group)
    resolved.set(group.id, { group_name: group.displayName, object_id: group.id })
  }
  return [...resolved.values()]
}

function checkTakesMembers({ displayName, isDynamic, isFromOnPremises }: Group): void {
  const group = `group '${excerpt(displayName)}' cannot be used`
  if (isDynamic) throw refuse('invalid', `${group}: ${dynamicGroupAdvice}`)
  if (isFromOnPremises) throw refuse('invalid', `${group}: ${onPremisesGroupAdvice}`)
}

async function groupById(id: string, { state, upstream, call }: Lookup): Promise<Group> {
  try {
    return await upstream.directory.getGroup(id, call)
  } catch (error) {
    if (error instanceof UpstreamError && error.status === 404)
      throw refuse('invalid', `no group found for object_id: '${excerpt(id)}'`)
    return orRefuse(`unable to lookup ${state.names.word} group`, Promise.reject(error))
  }
}

async function groupByName(name: string, { state, upstream, call }: Lookup): Promise<Group> {
  if (name === '') return onlyMatch([], name, { what: 'group', by: 'ObjectID' })
  const hits = await orRefuse(
    `unable to lookup ${state.names.word} group`,
    upstream.directory.findGroups(name, call),
  )
  return onlyMatch(hits, name, { what: 'group', by: 'ObjectID' })
}
