import { dynamicGroup, onPremisesGroup, roleAssignableGroup } from '../classification.ts'
import { type UpstreamCall, UpstreamError } from '../upstream-error.ts'
import type { DirectoryApi } from './directory.ts'

/**
 * The directory refuses with a missing permission or a bad request only, so the error also says what is special
 * about the group.
 */
export async function joinGroup(
  directory: DirectoryApi,
  { groupId, principalId }: { readonly groupId: string; readonly principalId: string },
  call: UpstreamCall,
): Promise<void> {
  try {
    await directory.addGroupMember(groupId, principalId, call)
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.operation !== 'addGroupMember') throw error
    if (error.status !== 403 && error.status !== 400) throw error
    const group = await directory.getGroup(groupId, call).catch(() => undefined)
    const found = [
      ...(group?.isFromOnPremises === true ? [onPremisesGroup] : []),
      ...(group?.isDynamic === true ? [dynamicGroup] : []),
      ...(group?.isRoleAssignable === true ? [roleAssignableGroup] : []),
    ]
    throw error.with({ details: [...error.details, ...found] })
  }
}
