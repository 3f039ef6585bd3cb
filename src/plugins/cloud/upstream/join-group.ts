import { dynamicGroup, roleAssignableGroup, type UpstreamCall, UpstreamError } from './index.ts'
import type { UpstreamWork } from '../upstream-work.ts'

/**
 * Makes a service principal a member of a group. A refusal is thrown with what is special about the group:
 * the directory says only that a right is missing.
 */
export async function joinGroup(
  groupId: string,
  principalId: string,
  { upstream }: Pick<UpstreamWork, 'upstream'>,
  call: UpstreamCall,
): Promise<void> {
  try {
    await upstream.directory.addGroupMember(groupId, principalId, call)
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== 403 || error.operation !== 'addGroupMember')
      throw error
    const group = await upstream.directory.getGroup(groupId, call).catch(() => undefined)
    const found = [
      ...(group?.isDynamic === true ? [dynamicGroup] : []),
      ...(group?.isRoleAssignable === true ? [roleAssignableGroup] : []),
    ]
    throw new UpstreamError({ ...error, message: error.message, details: [...error.details, ...found] })
  }
}
