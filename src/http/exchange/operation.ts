import type { AclOperation } from '../../core/policies/capabilities.ts'
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

/** The method of each operation in Fastify's router, which knows only the verbs that Node.js was built with. */
export const methodOf: Record<Operation, string> = {
  read: 'GET',
  list: 'SEARCH',
  scan: 'REPORT',
  write: 'POST',
  patch: 'PATCH',
  delete: 'DELETE',
  header: 'HEAD',
  help: 'TRACE',
  preflight: 'OPTIONS',
}

export const allMethods: readonly string[] = Object.values(methodOf)

/** The part of a request that has its fields. docs/contract/http.md#verbs-and-paths */
export const partOf = (operation: Operation | undefined): 'body' | 'query' =>
  operation === 'write' || operation === 'patch' ? 'body' : 'query'
