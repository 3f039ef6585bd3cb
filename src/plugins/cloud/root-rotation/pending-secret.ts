import type { ViewEntry } from '../../../core/barrier/view.ts'
import { fail } from '../../../errors.ts'
import type { ConfigRecord, PendingCertificate, PendingSecret, RetiringKey } from '../config/config-record.ts'
import { hasSameCredential } from '../config/effective-settings.ts'
import type { Intent, IntentTo } from '../intents/intent.ts'
import type { RecordedIntents } from '../intents/intents.ts'
import type { MountState } from '../mount-state.ts'
import { rootPasswordPrefix } from '../upstream/directory/object-names.ts'

export type RootPasswordIntent = IntentTo<'rootPassword'>

export const rootPasswordRemoval = (
  accessor: string,
  application_object_id: string,
  key_id: string,
): RootPasswordIntent => ({
  kind: 'rootPassword',
  application_object_id,
  // the key id identifies the password; this name only shows which mount it belongs to
  display_name: rootPasswordPrefix(accessor),
  key_id,
})

type Replaced = Pick<ConfigRecord, 'tenant_id'> & {
  readonly [Name in 'pending' | 'pending_certificate' | 'retiring_keys']?: ConfigRecord[Name] | undefined
}

/**
 * Intents to remove a pending secret or certificate, which will never be promoted, and keys of former certificates.
 */
export function removalOfPending(
  { intents, accessor, operator }: MountState,
  config: Replaced | undefined,
): RecordedIntents {
  const {
    pending,
    pending_certificate: certificate,
    retiring_keys: keys = [],
    tenant_id: tenant,
  } = config ?? {}
  const removals = [
    ...(pending === undefined
      ? []
      : [rootPasswordRemoval(accessor, pending.application_object_id, pending.key_id)]),
    ...(certificate === undefined ? [] : [keyRemoval('rootKey', certificate)]),
    ...keys.map((key) => keyRemoval('retireKey', key)),
  ]
  return intents.recordEntries(removals, operator.tenantId ?? tenant)
}

/** The intent to remove the key of a certificate from the root application. */
export const keyRemoval = (
  kind: 'rootKey' | 'retireKey',
  { application_object_id, thumbprint, key_id }: Omit<RetiringKey, 'not_before'>,
): Intent => ({ kind, application_object_id, thumbprint, key_id })

/** Stores a secret or certificate as pending, in place of the one that was pending before, which is removed. */
export const storePending = (
  read: ConfigRecord,
  next: { readonly pending: PendingSecret } | { readonly pending_certificate: PendingCertificate },
  alongside: readonly ViewEntry[],
  state: MountState,
): Promise<void> =>
  state.changeConfig((before) => {
    // an operator wrote another credential in the meantime
    if (before === undefined || !hasSameCredential(before, read, state.operator))
      throw fail('unavailable', 'the configuration was changed meanwhile')
    const { pending, pending_certificate, tenant_id } = read
    const [{ created }, replaced] =
      'pending' in next ? [next.pending, { pending }] : [next.pending_certificate, { pending_certificate }]
    return {
      config: { ...before, ...next, rotation_counts_from: created },
      alongside,
      undoes: removalOfPending(state, { ...replaced, tenant_id }),
    }
  })
