import { z } from 'zod'
import { type RequestKind, readAnswer, type UpstreamAnswer } from './answer.ts'
import { classify } from './classification.ts'
import { allPages } from './paging.ts'
import { resourcePath } from './resource-path.ts'
import { foreignAddress } from './transport.ts'
import { type UpstreamCall, UpstreamError, type UpstreamOperation } from './upstream-error.ts'

/** May have a leading slash. `name` is a UUID of the caller's, so the call is safe to repeat. */
type NewRoleAssignment = { scope: string; name: string; roleDefinitionId: string; principalId: string }
export type ResourceManagerApi = ReturnType<typeof openResourceManager>

/** Sends one Resource Manager request with a token and retries. All calls are idempotent. */
export type ResourceManagerSend = <Result>(
  request: { operation: UpstreamOperation; method: 'GET' | 'PUT' | 'DELETE'; url: string; body?: object },
  call: UpstreamCall,
  read: (answer: UpstreamAnswer, kind: RequestKind) => Result,
) => Promise<Result>

const definitionAnswer = z
  .object({ id: z.string().min(1), properties: z.object({ roleName: z.string() }) })
  .transform(({ id, properties }) => ({ id, roleName: properties.roleName }))
export type RoleDefinition = z.output<typeof definitionAnswer>
const actions = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? [])
const permissionAnswer = z.object({ actions, notActions: actions })
/** Patterns of granted and of excluded actions, as Resource Manager lists them for the caller. */
export type GrantedActions = z.output<typeof permissionAnswer>

const apiVersion = 'api-version=2022-04-01'

/**
 * Azure Resource Manager, one method per request. Throws `UpstreamError` only.
 * docs/contract/cloud.md#looking-up-roles, docs/contract/cloud.md#service-principals,
 * docs/contract/cloud.md#revocation, simulators/directory/README.md.
 */
export function openResourceManager(base: string, subscriptionId: string, send: ResourceManagerSend) {
  const authorization = (operation: UpstreamOperation, scope = `/subscriptions/${subscriptionId}`) =>
    `${base}${pathOf(operation, scope)}/providers/Microsoft.Authorization`

  const list = <Item extends z.ZodType>(
    operation: UpstreamOperation,
    first: string,
    item: Item,
    call: UpstreamCall,
  ) => {
    const kind = { service: 'resource-manager', operation, repeatable: true } as const
    return allPages(kind, item, first, async (url, read) => {
      if (URL.parse(url)?.href.startsWith(`${base}/`) !== true) throw foreignAddress(kind)
      return await send({ operation, method: 'GET', url }, call, read)
    })
  }

  return {
    getRoleDefinition: async (id: string, call: UpstreamCall): Promise<RoleDefinition> => {
      const url = `${base}${pathOf('getRoleDefinition', id)}?${apiVersion}`
      return await send({ operation: 'getRoleDefinition', method: 'GET', url }, call, (answer, kind) =>
        readAnswer(kind, answer, definitionAnswer),
      )
    },
    /** At a scope, by default in the configured subscription. Reads all pages. */
    findRoleDefinitions: async (
      roleName: string,
      scope: string | undefined,
      call: UpstreamCall,
    ): Promise<RoleDefinition[]> => {
      const filter = encodeURIComponent(`roleName eq '${roleName.replaceAll("'", "''")}'`)
      const url = `${authorization('findRoleDefinitions', scope)}/roleDefinitions?${apiVersion}&$filter=${filter}`
      return await list('findRoleDefinitions', url, definitionAnswer, call)
    },
    putRoleAssignment: async (
      { scope, name, roleDefinitionId, principalId }: NewRoleAssignment,
      call: UpstreamCall,
    ): Promise<{ readonly id: string }> => {
      const operation = 'putRoleAssignment'
      const id = `${pathOf(operation, scope)}/providers/Microsoft.Authorization/roleAssignments/${encodeURIComponent(name)}`
      const body = { properties: { roleDefinitionId, principalId, principalType: 'ServicePrincipal' } }
      return await send(
        { operation, method: 'PUT', url: `${base}${id}?${apiVersion}`, body },
        call,
        (answer, kind) => readAnswer(kind, answer, z.object({ id: z.string().min(1) })),
      )
    },
    /** Deletes an assignment by its full id. Returns false if it did not exist (204, 404). */
    deleteRoleAssignment: async (id: string, call: UpstreamCall): Promise<boolean> => {
      const operation = 'deleteRoleAssignment'
      try {
        return await send(
          { operation, method: 'DELETE', url: `${base}${pathOf(operation, id)}?${apiVersion}` },
          call,
          ({ status }) => status !== 204,
        )
      } catch (error) {
        if (!(error instanceof UpstreamError) || classify(error).kind !== 'done') throw error
        return false
      }
    },
    /** What the root may do at a scope, by default in the configured subscription. */
    permissions: async (scope: string | undefined, call: UpstreamCall): Promise<GrantedActions[]> => {
      const url = `${authorization('permissions', scope)}/permissions?${apiVersion}`
      return await list('permissions', url, permissionAnswer, call)
    },
  }
}

/** An id that cannot be a path names no object upstream. docs/contract/cloud.md#looking-up-roles */
function pathOf(operation: UpstreamOperation, text: string): string {
  const path = resourcePath(text)
  if (path !== undefined) return path
  const failure = { code: 'InvalidResourceId', text: 'not the id of a resource', status: 400 }
  throw new UpstreamError({ service: 'resource-manager', operation, ...failure })
}
