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

/**
 * The method under which Fastify routes each operation on a node-level path. The handler looks at the verb itself, so three
 * methods are enough: with a body, without one, and without a body in the response.
 */
export const nodeMethodOf: Record<Operation, 'GET' | 'HEAD' | 'POST'> = {
  read: 'GET',
  list: 'GET',
  scan: 'GET',
  help: 'GET',
  header: 'HEAD',
  write: 'POST',
  patch: 'POST',
  delete: 'POST',
  preflight: 'POST',
}

export const nodeMethods = ['GET', 'HEAD', 'POST'] as const

/** The part of a request that has its fields. docs/contract/http.md#verbs-and-paths */
export const partOf = (operation: Operation | undefined): 'body' | 'query' =>
  operation === 'write' || operation === 'patch' ? 'body' : 'query'
