import { z } from 'zod'
import { fail } from '../../../errors.ts'

/**
 * What a credential may do at one scope, with the name and id that upstream gave.
 * docs/contract/cloud.md#looking-up-roles
 */
const grantedRole = z.object({ role_name: z.string(), role_id: z.string(), scope: z.string() })

/** A group a credential is a member of. docs/contract/cloud.md#looking-up-groups */
const joinedGroup = z.object({ group_name: z.string(), object_id: z.string() })

/**
 * The application a role with `persist_app` owns, and the rights it was given.
 * docs/contract/cloud.md#persisted-applications
 */
const managedApplication = z.object({
  /** Where it was made. */
  tenant_id: z.string().exactOptional(),
  object_id: z.string(),
  client_id: z.string(),
  service_principal_id: z.string(),
  /** `id` is that of the assignment upstream. */
  role_assignments: z.array(z.object({ id: z.string(), role_id: z.string(), scope: z.string() })),
  group_ids: z.array(z.string()),
})

const storedRole = z.object({
  /**
   * Object id of the application credentials are added to; empty: each credential gets its own. Of a managed
   * application, its id.
   */
  application_object_id: z.string(),
  /** Client id of that application; empty when there is none. */
  application_client_id: z.string(),
  roles: z.array(grantedRole).nullable(),
  groups: z.array(joinedGroup).nullable(),
  persist_app: z.boolean(),
  /** Seconds; 0 is unset. */
  ttl: z.number(),
  max_ttl: z.number(),
  explicit_max_ttl: z.number(),
  permanently_delete: z.boolean(),
  /** As written; empty is unset. */
  sign_in_audience: z.string(),
  tags: z.array(z.string()).nullable(),
  managed: managedApplication.exactOptional(),
})

export type GrantedRole = z.output<typeof grantedRole>
export type JoinedGroup = z.output<typeof joinedGroup>
export type ManagedApplication = z.output<typeof managedApplication>

/** A role as stored. docs/contract/cloud.md#reading-a-role */
export type RoleRecord = z.output<typeof storedRole>

/** A role nobody has written yet. */
export const emptyRole: RoleRecord = {
  application_object_id: '',
  application_client_id: '',
  roles: null,
  groups: null,
  persist_app: false,
  ttl: 0,
  max_ttl: 0,
  explicit_max_ttl: 0,
  permanently_delete: false,
  sign_in_audience: '',
  tags: null,
}

/** A stored record as a role. Fields of a later version stay as they are. Throws kind `internal`. */
export function readRole(stored: unknown): RoleRecord {
  const role = storedRole.loose().safeParse(stored)
  if (!role.success)
    throw fail('internal', 'internal error', {
      cause: new Error('a stored role of the cloud engine has an invalid shape'),
    })
  return role.data
}
