import { z } from 'zod'
import { recordReader } from '../../../core/records/stored-record.ts'
import { refuse } from '../../../errors.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { appRole, appRoleAssignment } from '../app-roles/app-role.ts'

/** An Azure role at one scope, with its name and id upstream. docs/contract/cloud.md#looking-up-roles */
const grantedRole = z.object({ role_name: z.string(), role_id: z.string(), scope: z.string() })

type Right = Pick<z.output<typeof grantedRole>, 'role_id' | 'scope'>

/**
 * Equal for rights that are one upstream, which ignores case and slashes at the ends, and knows a role definition by
 * its name at every scope.
 */
export const rightKey = ({ role_id, scope }: Right): string =>
  JSON.stringify([segmentsOf(role_id).at(-1), ...segmentsOf(scope)])

const segmentsOf = (id: string): string[] =>
  id
    .toLowerCase()
    .split('/')
    .map((segment) => segment.trim())
    .filter((segment) => segment !== '')

/** A group that credentials join. docs/contract/cloud.md#looking-up-groups */
const joinedGroup = z.object({ group_name: z.string(), object_id: z.string() })

/** Owned by a `persist_app` role, with its rights. docs/contract/cloud.md#persisted-applications */
const managedApplication = z.object({
  tenant_id: z.string().exactOptional(),
  object_id: z.string(),
  client_id: z.string(),
  service_principal_id: z.string(),
  /** `id` is the id of the assignment upstream. */
  role_assignments: z.array(z.object({ id: z.string(), role_id: z.string(), scope: z.string() })),
  group_ids: z.array(z.string()),
  app_roles: z.array(appRoleAssignment).exactOptional(),
  /** When rights were last granted, in milliseconds since the epoch. Roles of earlier versions have none. */
  rights_since: z.number().exactOptional(),
})

/** What a role can issue. docs/contract/cloud.md#types-of-credentials */
export const credentialTypes = ['password', 'certificate', 'federated'] as const

/** The trust of an application in the identity tokens of a federated role. */
const trust = z.object({
  /** The tenant of the application. */
  tenant_id: z.string(),
  application_object_id: z.string(),
  name: z.string(),
  /** When it was last written, in milliseconds since the epoch. */
  since: z.number(),
})

const storedRole = z.object({
  /**
   * Object id of the application, existing or owned, that gets the passwords. Empty: each credential gets its own.
   */
  application_object_id: z.string(),
  /** Client id of that application, or empty. */
  application_client_id: z.string(),
  roles: z.array(grantedRole).nullable(),
  groups: z.array(joinedGroup).nullable(),
  /** Absent: never set. */
  app_roles: z.array(appRole).nullable().exactOptional(),
  persist_app: z.boolean(),
  /** Seconds; 0 means unset. */
  ttl: z.number(),
  max_ttl: z.number(),
  explicit_max_ttl: z.number(),
  permanently_delete: z.boolean(),
  /** As written; empty means unset. */
  sign_in_audience: z.string(),
  tags: z.array(z.string()).nullable(),
  /** An operator's notes. Absent: never set. */
  metadata: z.record(z.string(), z.string()).nullable().exactOptional(),
  managed: managedApplication.exactOptional(),
  /** Absent: `password`. */
  credential_type: z.enum(credentialTypes).exactOptional(),
  /** Client id of a client of an administrator's, which trusts the identity tokens of the role. */
  federated_client_id: z.string().exactOptional(),
  /** Scopes of access tokens; absent or empty: any. */
  allowed_scopes: z.array(z.string()).exactOptional(),
  trust: trust.exactOptional(),
  /** How many credentials are made ahead. Absent: none. docs/contract/cloud-pool.md */
  pool: z.number().exactOptional(),
})

export type Trust = z.output<typeof trust>
export type CredentialType = (typeof credentialTypes)[number]

export type GrantedRole = z.output<typeof grantedRole>
export type JoinedGroup = z.output<typeof joinedGroup>
export type ManagedApplication = z.output<typeof managedApplication>

/** A stored role. docs/contract/cloud.md#reading-a-role */
export type RoleRecord = z.output<typeof storedRole>

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

/** Earlier versions stored roles with an entry without a scope, which is the root of the tenant. */
export const lacksScope = ({ roles }: Pick<RoleRecord, 'roles'>): boolean =>
  (roles ?? []).some(({ scope }) => scope === '')

/** Throws `invalid` for a role that must be written again before it is used. */
export function checkHasScopes(name: string, role: Pick<RoleRecord, 'roles'>): void {
  if (lacksScope(role))
    throw refuse('invalid', `role ${quoted(name)} has an entry without a scope; write the role again`)
}

export const readRole = recordReader<RoleRecord>('role of the cloud engine', storedRole)
