import { z } from 'zod'
import { formatTime } from '../../../lib/text/time.ts'
import type { Intent } from './intent.ts'
import type { Leftover } from './intents.ts'

/** An object that may still exist upstream and has no owner. */
export const debrisObject = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  since: z.string(),
  tries: z.int(),
  error: z.string(),
})
export type DebrisObject = z.output<typeof debrisObject>

/** Lists each object that is left to undo. An unknown id is empty. docs/contract/cloud.md#undo */
export const debrisObjects = (left: readonly Leftover[]): DebrisObject[] =>
  left.flatMap(({ intent, since, tries, error }) =>
    objectsOf(intent).map(({ id, name }) => ({
      kind: intent.kind,
      id,
      name,
      since: formatTime(since),
      tries,
      error,
    })),
  )

function objectsOf(intent: Intent): { id: string; name: string }[] {
  switch (intent.kind) {
    case 'app':
      return [{ id: intent.object_id ?? '', name: intent.display_name }]
    case 'roleAssignments':
      return intent.assignment_ids.map((id) => ({ id, name: '' }))
    case 'groupMembership':
      return intent.group_ids.map((id) => ({ id, name: intent.service_principal_id }))
    case 'appRoleAssignments':
      return intent.grants.map((id) => ({ id, name: intent.service_principal_id }))
    case 'password':
    case 'rootPassword':
    case 'staticPassword':
      return [{ id: intent.key_id ?? '', name: intent.display_name }]
    case 'retirePassword':
      return [{ id: intent.key_id, name: intent.role }]
    case 'rootKey':
    case 'retireKey':
      return [{ id: intent.key_id ?? '', name: intent.thumbprint }]
    case 'federatedCredential':
      return [{ id: intent.application_object_id, name: intent.name }]
    case 'purge':
      return [{ id: intent.object_id, name: '' }]
  }
}
