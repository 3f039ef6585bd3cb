import { refuse } from '../../../errors.ts'
import type { FieldNames } from '../field-names.ts'
import { type CredentialType, credentialTypes, type RoleRecord } from '../roles/role-record.ts'
import { checkedScopes } from './requested-scope.ts'

/** What a role issues. docs/contract/cloud.md#types-of-credentials */
export const credentialTypeOf = ({ credential_type = 'password' }: Pick<RoleRecord, 'credential_type'>) =>
  credential_type

type SentIssued = {
  readonly credential_type?: string | undefined
  readonly federated_client_id?: string | undefined
  readonly allowed_scopes?: string[] | undefined
}

type Issued = Pick<RoleRecord, 'credential_type' | 'federated_client_id' | 'allowed_scopes'>

/** The fields of a request that say what the role issues, over the stored ones. Throws `invalid`. */
export function changedIssued(stored: RoleRecord, sent: SentIssued): Issued {
  const type = sent.credential_type === undefined ? stored.credential_type : readType(sent.credential_type)
  const clientId = sent.federated_client_id ?? stored.federated_client_id
  const scopes =
    sent.allowed_scopes === undefined ? stored.allowed_scopes : checkedScopes(sent.allowed_scopes)
  return {
    ...(type === undefined ? {} : { credential_type: type }),
    ...(clientId === undefined ? {} : { federated_client_id: clientId }),
    ...(scopes === undefined ? {} : { allowed_scopes: scopes }),
  }
}

/** An empty text means the default. */
function readType(sent: string): CredentialType {
  const found = credentialTypes.find((type) => type === (sent || 'password'))
  if (found === undefined) throw refuse('invalid', `unknown credential_type "${sent.slice(0, 100)}"`)
  return found
}

/**
 * Whether the type of its credentials fits its application, before its lists are looked up. Throws the first
 * refusal. docs/contract/cloud.md#types-of-credentials
 */
export function checkIssued(role: RoleRecord, names: FieldNames): void {
  const type = credentialTypeOf(role)
  const target = targetField(role)
  if (type === 'federated' && (role.pool ?? 0) > 0)
    throw refuse(
      'invalid',
      'pool cannot be used with credential_type federated: nothing is made upstream for its tokens',
    )
  if (role.federated_client_id) {
    const other = [
      ...(target === undefined ? [] : [target]),
      ...((role.roles ?? []).length > 0 ? [names.roles] : []),
      ...((role.groups ?? []).length > 0 ? [names.groups] : []),
      ...((role.app_roles ?? []).length > 0 ? [names.appRoles] : []),
    ]
    if (other[0] !== undefined)
      throw refuse('invalid', `federated_client_id cannot be set together with ${other[0]}`)
    if (type !== 'federated')
      throw refuse('invalid', `credential_type ${type} cannot be used with federated_client_id`)
    return
  }
  if (type === 'certificate' && target !== undefined)
    throw refuse('invalid', `credential_type certificate cannot be used with ${target}`)
  if (type === 'federated' && target === undefined)
    throw refuse(
      'invalid',
      'credential_type federated requires persist_app, application_object_id or federated_client_id',
    )
}

/** These fields for a read: shown once they are set. */
export const shownIssued = ({
  credential_type,
  federated_client_id,
  allowed_scopes = [],
}: Issued): object => ({
  ...(credential_type === undefined ? {} : { credential_type }),
  ...(federated_client_id ? { federated_client_id } : {}),
  ...(allowed_scopes.length > 0 ? { allowed_scopes } : {}),
})

const targetField = ({ persist_app, application_object_id }: RoleRecord): string | undefined =>
  persist_app ? 'persist_app' : application_object_id === '' ? undefined : 'application_object_id'

export const federatedClientOf = (role: RoleRecord): string =>
  role.federated_client_id || role.application_client_id
