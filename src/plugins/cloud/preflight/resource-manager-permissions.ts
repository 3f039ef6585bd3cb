import { globMatches } from '../../../lib/text/glob.ts'
import type { GrantedActions } from '../upstream/index.ts'
import { forEachOf } from '../upstream-work.ts'
import {
  type Finding,
  grantsRights,
  maxLookups,
  type PreflightContext,
  unlessDenied,
} from './preflight-context.ts'

const neededActions = [
  'Microsoft.Authorization/roleDefinitions/read',
  'Microsoft.Authorization/roleAssignments/write',
  'Microsoft.Authorization/roleAssignments/delete',
]

/**
 * Checks each scope that the roles name, because a root that may assign roles there needs no right on the
 * subscription, else the subscription.
 */
export async function resourceManagerPermissions({
  state,
  upstream,
  call,
}: PreflightContext): Promise<Finding> {
  const granting = (await state.roles()).map(({ role }) => role).filter(grantsRights)
  const scopes = [...new Set(granting.flatMap(({ roles }) => (roles ?? []).map(({ scope }) => scope)))].sort()
  if (scopes.length === 0) return actionsFinding(await grantedAt(undefined), 'the subscription')
  const findings: Finding[] = []
  await forEachOf(scopes.slice(0, maxLookups), async (scope) => {
    findings.push(actionsFinding(await grantedAt(scope), scope))
  })
  const lacking = findings.filter(({ ok }) => !ok)
  const skipped =
    scopes.length > maxLookups ? [`${scopes.length - maxLookups} further scopes were not checked`] : []
  if (lacking.length > 0)
    return { ok: false, detail: [...lacking.map(({ detail }) => detail).sort(), ...skipped].join('; ') }
  return {
    ok: true,
    detail: [`has ${neededActions.join(', ')} at the scopes of its roles`, ...skipped].join('; '),
  }

  /** A root that may not even read its permissions has none. */
  function grantedAt(scope: string | undefined): Promise<GrantedActions[]> {
    return unlessDenied(upstream.resourceManager.permissions(scope, call), [])
  }
}

function actionsFinding(granted: readonly GrantedActions[], place: string): Finding {
  const lacking = neededActions.filter(
    (action) =>
      !granted.some(
        ({ actions, notActions }) => actions.some(covers(action)) && !notActions.some(covers(action)),
      ),
  )
  return {
    ok: lacking.length === 0,
    detail:
      lacking.length === 0
        ? `has ${neededActions.join(', ')} in ${place}`
        : `lacks ${lacking.join(', ')} in ${place}`,
  }
}

/** Resource Manager's patterns: `*` stands for any text, and case is ignored. */
const covers =
  (action: string) =>
  (pattern: string): boolean =>
    globMatches(pattern.toLowerCase(), action.toLowerCase())
