import type { MountState, NamedRole } from '../mount-state.ts'
import { type CredentialRecord, isLeased, type LeaseLookup, recordOf } from '../records/credential-record.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import type { Intent, IntentTo } from './intent.ts'

export type Owners = { readonly state: MountState; readonly leases: LeaseLookup }

/**
 * Whether a lease, a pool, a role or the configuration owns what an intent names; then nothing of it may be undone.
 * docs/contract/cloud.md#undo
 */
export async function isOwned(intent: Intent, owners: Owners): Promise<boolean> {
  switch (intent.kind) {
    case 'app': {
      const { object_id: objectId } = intent
      return objectId !== undefined && (await ownsApplication(objectId, owners, intent.client_id))
    }
    case 'roleAssignments': {
      const ids = new Set(intent.assignment_ids.map(lower))
      const { client_id: clientId } = intent
      const isOf = ({ role_assignment_ids: owned = [] }: CredentialRecord) =>
        owned.some((id) => ids.has(lower(id)))
      return (
        (clientId !== undefined && (await isIssued(owners, isOf, clientId))) ||
        (await hasRole(
          owners,
          ({ managed }) => managed?.role_assignments.some(({ id }) => ids.has(lower(id))) === true,
        ))
      )
    }
    case 'password': {
      const { key_id: keyId, display_name: name, client_id: clientId } = intent
      const isOf = (record: CredentialRecord) =>
        record.key_id !== undefined && (record.key_id === keyId || record.made_name === name)
      return isIssued(owners, isOf, clientId)
    }
    case 'rootPassword': {
      const config = await owners.state.findConfig()
      return (
        intent.key_id !== undefined &&
        [config?.client_secret_key_id, config?.pending?.key_id].includes(intent.key_id)
      )
    }
    case 'staticPassword':
    case 'retirePassword': {
      const { kind, key_id: keyId } = intent
      if (keyId === undefined) return false
      const role = await owners.state.staticRoles.find(intent.role)
      return role?.current?.key_id === keyId || (kind === 'staticPassword' && role?.former?.key_id === keyId)
    }
    case 'rootKey':
    case 'retireKey': {
      const config = await owners.state.findConfig()
      const kept = [config?.certificate, config?.pending_certificate, owners.state.operator.certificate]
      return kept.some((certificate) => certificate?.thumbprint === intent.thumbprint)
    }
    case 'federatedCredential':
      return (await ownerOfTrust(intent, owners)) !== undefined
    case 'appRoleAssignments': {
      const { client_id: clientId } = intent
      return clientId !== undefined && (await isIssued(owners, () => true, clientId))
    }
    case 'groupMembership':
    case 'purge':
      return false
  }
}

/** Whether a lease, or a pool, owns what `owns` looks for. */
async function isIssued(
  { state, leases }: Owners,
  owns: (record: CredentialRecord) => boolean,
  clientId: string,
): Promise<boolean> {
  // the pool first: a lease follows on it
  const isPooled = (await state.pool.ofClient(clientId)).some(({ data }) => owns(recordOf(data)))
  return isPooled || isLeased(state, leases, owns, clientId)
}

/** The name of the role that owns a trust. `role` is the only one that may, if it is known. */
export async function ownerOfTrust(
  { role, application_object_id: applicationId, name }: Omit<IntentTo<'federatedCredential'>, 'kind'>,
  { state }: Pick<Owners, 'state'>,
): Promise<string | undefined> {
  for (const one of role === undefined ? await state.roleNames() : [role]) {
    const trust = (await state.findRole(one))?.trust
    if (trust?.name === name && lower(trust.application_object_id) === lower(applicationId)) return one
  }
  return undefined
}

/** Leases are found by client id, which becomes known together with the object id. */
export async function ownsApplication(
  objectId: string,
  { state, leases }: Owners,
  clientId: string | undefined,
): Promise<boolean> {
  return (
    (clientId !== undefined &&
      (await isIssued({ state, leases }, (record) => record.app_object_id === objectId, clientId))) ||
    (await hasRole(
      { state, leases },
      (role) => role.managed?.object_id === objectId || role.application_object_id === objectId,
    ))
  )
}

export const findRoleOf = (principalId: string, owners: Owners): Promise<NamedRole | undefined> =>
  findRole(owners, ({ managed }) => managed?.service_principal_id === principalId)

const hasRole = async (owners: Owners, is: (role: RoleRecord) => boolean): Promise<boolean> =>
  (await findRole(owners, is)) !== undefined

const findRole = async (
  { state }: Owners,
  is: (role: RoleRecord) => boolean,
): Promise<NamedRole | undefined> => (await state.roles()).find(({ role }) => is(role))

/** Ids of Resource Manager are case-insensitive. */
const lower = (id: string): string => id.toLowerCase()
