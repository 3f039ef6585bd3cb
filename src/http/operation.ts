import type { AclOperation } from '../core/policies/capabilities.ts'
import type { Call, Operation } from './call.ts'

/** What policies must allow for a call; known once the existence of its target is. */
export function aclOperationOf({ operation = 'read', creates }: Call): AclOperation {
  const asked = aclOperation[operation]
  return asked === 'update' && creates ? 'create' : asked
}

const aclOperation: Record<Operation, AclOperation> = {
  read: 'read',
  header: 'read',
  list: 'list',
  scan: 'scan',
  write: 'update',
  patch: 'patch',
  delete: 'delete',
  help: 'help',
  preflight: 'read',
}
