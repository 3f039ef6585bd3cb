import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import type { Intent } from '../intents/intent.ts'
import type { MountState } from '../mount-state.ts'
import { rootPasswordPrefix } from '../upstream/object-names.ts'

export type RootPasswordIntent = Extract<Intent, { kind: 'rootPassword' }>

/** Whether two configurations sign in with the same root credential. */
export const hasSameCredential = (a: ConfigRecord, b: ConfigRecord): boolean =>
  (['tenant_id', 'client_id', 'client_secret', 'environment'] as const).every((name) => a[name] === b[name])

/** The intent to remove a root secret by its key id. */
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

/** Intents to remove the pending secret of a configuration, if any, because it will never be promoted. */
export function removalOfPending(
  { intents, accessor, operator }: MountState,
  config: Pick<ConfigRecord, 'pending' | 'tenant_id'> | undefined,
): { readonly ids: string[]; readonly entries: ViewEntry[] } {
  const { pending, tenant_id: tenant } = config ?? {}
  const removals =
    pending === undefined
      ? []
      : [rootPasswordRemoval(accessor, pending.application_object_id, pending.key_id)]
  return intents.recordEntries(removals, operator.tenantId ?? tenant)
}
