/**
 * An object that is about to be created upstream, or still has to be removed. Stored before the call that creates
 * it; undone, with retries until nothing is left, if that fails or the server crashes. docs/contract/cloud.md#undo
 */
export type Intent =
  | {
      readonly kind: 'app'
      readonly display_name: string
      /** A tag that only this application carries. */
      readonly tag: string
      /** The ids, once upstream has returned them. */
      readonly object_id?: string | undefined
      readonly client_id?: string | undefined
      readonly service_principal_id?: string | undefined
      /** Present once the application is deleted and only has to be purged. */
      readonly deleted?: string | undefined
    }
  /** `client_id`: the credential they belong to, known before it can have a lease. */
  | {
      readonly kind: 'roleAssignments'
      readonly assignment_ids: readonly string[]
      readonly client_id?: string | undefined
    }
  | {
      readonly kind: 'groupMembership'
      readonly group_ids: readonly string[]
      readonly service_principal_id: string
    }
  /** App roles; each grant is `<object id of the resource>/<id of the role>`. `client_id` as above. */
  | {
      readonly kind: 'appRoleAssignments'
      readonly service_principal_id: string
      readonly grants: readonly string[]
      readonly client_id?: string | undefined
    }
  | {
      readonly kind: 'password'
      readonly application_object_id: string
      readonly client_id: string
      readonly display_name: string
      readonly key_id?: string | undefined
    }
  /** A password that a rotation adds to the application of a static role. */
  | {
      readonly kind: 'staticPassword'
      readonly role: string
      readonly application_object_id: string
      readonly display_name: string
      readonly key_id?: string | undefined
    }
  /** A password that a static role no longer has and whose grace period is over. */
  | {
      readonly kind: 'retirePassword'
      readonly role: string
      readonly application_object_id: string
      readonly key_id: string
      /** Milliseconds since the epoch: it was made then, or earlier. Absent: long ago. */
      readonly made?: number | undefined
    }
  /** A password of the root application. It is kept while it is the current or the pending root secret. */
  | {
      readonly kind: 'rootPassword'
      readonly application_object_id: string
      readonly display_name: string
      readonly key_id?: string | undefined
      /** Set if the service principal holds the password instead of the application. */
      readonly service_principal_id?: string | undefined
      /** SHA-256 of a secret that an operator entered: it stays as long as any mount signs in with it. */
      readonly secret_digest?: string | undefined
    }
  /**
   * Of the root application: `rootKey` of a certificate that a rotation adds, `retireKey` of one that it has
   * replaced. Kept while it is that of the current or the pending certificate.
   */
  | {
      readonly kind: 'rootKey' | 'retireKey'
      readonly application_object_id: string
      /** SHA-1 of the certificate, in hexadecimal. */
      readonly thumbprint: string
      readonly key_id?: string | undefined
    }
  /** The undo of a trust restores it if the role owns it, and removes it otherwise. */
  | {
      readonly kind: 'federatedCredential'
      /** Absent if it had no role and was reaped. */
      readonly role?: string | undefined
      readonly application_object_id: string
      readonly name: string
    }
  | { readonly kind: 'purge'; readonly object_id: string }

/** Fields of an intent that became known after it was stored. */
export type Known = Readonly<Record<string, string | readonly string[]>>

export type IntentTo<Kind extends Intent['kind']> = Extract<Intent, { kind: Kind }>

export type RightsRemoval = IntentTo<'roleAssignments' | 'groupMembership' | 'appRoleAssignments'>

/** Intents to remove rights, one for each kind of which there are some. */
export function rightsRemovals(
  service_principal_id: string | undefined,
  rights: {
    readonly assignment_ids?: readonly string[] | undefined
    readonly group_ids?: readonly string[] | undefined
    readonly grants?: readonly string[] | undefined
  },
): RightsRemoval[] {
  const { assignment_ids = [], group_ids = [], grants = [] } = rights
  const removals: RightsRemoval[] = []
  if (assignment_ids.length > 0) removals.push({ kind: 'roleAssignments', assignment_ids })
  if (service_principal_id === undefined) return removals
  if (group_ids.length > 0) removals.push({ kind: 'groupMembership', group_ids, service_principal_id })
  if (grants.length > 0) removals.push({ kind: 'appRoleAssignments', service_principal_id, grants })
  return removals
}
