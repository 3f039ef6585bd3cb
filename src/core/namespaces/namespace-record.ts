import { z } from 'zod'
import { textMap } from '../../lib/data/text-map.ts'
import type { ViewRecord } from '../barrier/view.ts'
import type { NamespaceRecord } from './namespace.ts'

/** Key prefix of the namespaces in the core's view: one record for each namespace, by id. */
export const namespaceRecords = 'namespace/'

/** Key prefix of all ids ever used, so that the id of a deleted namespace is never reused. */
export const usedIds = 'namespace-used/'

/** Keeps fields of later versions. */
const stored = z.looseObject({
  id: z.string().regex(/^[0-9A-Za-z]{6}$/),
  path: z.string().regex(/^(?:[^/]+\/)+$/),
  uuid: z.string(),
  tainted: z.boolean(),
  abandoned: z.boolean().exactOptional(),
  unlock_key_hash: z.string(),
  custom_metadata: textMap,
  token_rows: z.literal(true).exactOptional(),
})

/**
 * Parses a stored namespace. Throws for an unknown format: the start must fail.
 * docs/operations.md#what-a-damaged-store-does
 */
export function readNamespace({ key, value }: ViewRecord): NamespaceRecord {
  const record = stored.safeParse(value)
  if (!record.success || namespaceRecords + record.data.id !== key)
    throw new Error(`record core/${key} is not a namespace that this version can read`)
  return record.data
}
