import type { ViewEntry } from '../../../core/barrier/view.ts'

/**
 * What is about to be made upstream, or must still be removed there, as stored below a mount before the call
 * that makes it. What is left of it after a failure or a crash is undone until nothing is.
 * docs/contract/cloud.md#undo.
 */
export type Intent =
  | {
      readonly kind: 'app'
      readonly display_name: string
      /** Tag only this one application carries. */
      readonly tag: string
      /** Ids, once upstream has told them. */
      readonly object_id?: string
      readonly client_id?: string
      readonly service_principal_id?: string
      /** There once it was deleted, and is left to be purged. */
      readonly deleted?: string
    }
  /** `client_id`: of the credential they are made for, known before it can have a lease. */
  | {
      readonly kind: 'roleAssignments'
      readonly assignment_ids: readonly string[]
      readonly client_id?: string
    }
  | {
      readonly kind: 'groupMembership'
      readonly group_ids: readonly string[]
      readonly service_principal_id: string
    }
  | {
      readonly kind: 'password'
      readonly application_object_id: string
      readonly client_id: string
      readonly display_name: string
      readonly key_id?: string
    }
  /** A password the engine signed in with: undone unless it is the current or the pending one. */
  | {
      readonly kind: 'rootPassword'
      readonly application_object_id: string
      readonly display_name: string
      readonly key_id?: string
      /** Of one on the service principal; else it is on the application. */
      readonly service_principal_id?: string
      /** SHA-256 of one that was typed in: as long as any mount signs in with it, it stays. */
      readonly secret_digest?: string
    }
  | { readonly kind: 'purge'; readonly object_id: string }

/** Members of an intent that are told anew. */
export type Known = Readonly<Record<string, string | readonly string[]>>

/** The intents of one mount, stored in its view. Ids are the store's own. */
export interface IntentLog {
  /** Resolves once it is durable: only then may the call be made. `tenant`: where. */
  record(intent: Intent, tenant: string | undefined): Promise<string>
  /** As `record`, as an entry for a write that does more. */
  recording(intent: Intent, tenant: string | undefined): { readonly id: string; readonly entry: ViewEntry }
  /** What has become known since. Nothing happens to one that is settled. */
  amend(id: string, known: Known): Promise<void>
  /** What was meant is now owned by a stored record, or is gone: nothing is left to undo. */
  settle(ids: readonly string[]): Promise<void>
  /** As `settle`, as entries for the write that stores the owner. */
  settling(ids: readonly string[]): readonly ViewEntry[]
  /**
   * What was begun has failed: it is undone from now on, in the background and until it is done.
   * `isUnderway`: a call was not answered, so what it asks for may still be done after the undoing has
   * looked.
   */
  undo(ids: readonly string[], how?: { readonly isUnderway?: boolean | undefined }): void
}
