import { refuse } from '../../../errors.ts'
import type { Exchange } from '../../../http/resource/resource.ts'
import { requiresTag } from '../../../lib/net/entity-tag.ts'
import type { Head } from '../store/key-record.ts'

/** Changes with everything that a read of the key's data shows. */
export const tagOf = ({ id, current, changes }: Head): string => `"${id}.${current}.${changes}"`

/** Throws if the request wants another state of the key. docs/contract/kv.md#conditional-calls */
export function checkIfMatch({ header }: Exchange<unknown, unknown>, head: Head | undefined): void {
  const wanted = header('if-match')
  if (wanted === undefined) return
  if (head === undefined || !requiresTag(wanted, tagOf(head)))
    throw refuse('precondition', 'precondition failed')
}
