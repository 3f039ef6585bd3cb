import type { Intent } from './intent.ts'
import type { Leftover } from './intents.ts'
import { formatTime } from '../../../lib/time.ts'

/** One thing that may still be upstream and belongs to nobody. */
export type DebrisObject = {
  kind: string
  id: string
  name: string
  since: string
  tries: number
  error: string
}

/**
 * What is left to undo, object by object; an id that nobody knows yet is empty. docs/contract/cloud.md#undo
 */
export const debrisObjects = (left: readonly Leftover[]): DebrisObject[] =>
  left.flatMap(({ intent, since, tries, error }) =>
    named(intent).map(({ id, name }) => ({
      kind: intent.kind,
      id,
      name,
      since: formatTime(since),
      tries,
      error,
    })),
  )

function named(intent: Intent): { id: string; name: string }[] {
  switch (intent.kind) {
    case 'app':
      return [{ id: intent.object_id ?? '', name: intent.display_name }]
    case 'roleAssignments':
      return intent.assignment_ids.map((id) => ({ id, name: '' }))
    case 'groupMembership':
      return intent.group_ids.map((id) => ({ id, name: intent.service_principal_id }))
    case 'password':
    case 'rootPassword':
      return [{ id: intent.key_id ?? '', name: intent.display_name }]
    case 'purge':
      return [{ id: intent.object_id, name: '' }]
  }
}
