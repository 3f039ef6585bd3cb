import { z } from 'zod'
import type { ViewRecord } from '../barrier/view.ts'
import type { NamespaceRecord } from './namespace.ts'

/** Where the namespaces are, in the core's view: one record each, by id. */
export const namespaceRecords = 'namespace/'

/**
 * Every id that was ever given away, so that none is given twice: what carries the id of a deleted namespace
 * can never mean another one.
 */
export const usedIds = 'namespace-used/'

/** Fields of a later version stay as they are. */
const stored = z.looseObject({
  id: z.string().regex(/^[0-9A-Za-z]{6}$/),
  path: z.string().regex(/^(?:[^/]+\/)+$/),
  uuid: z.string(),
  tainted: z.boolean(),
  abandoned: z.boolean().exactOptional(),
  unlock_key_hash: z.string(),
  // zod's own record would drop a key named `__proto__`
  custom_metadata: z.custom<Record<string, string>>(isTextMap),
})

function isTextMap(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text) => typeof text === 'string')
  )
}

/**
 * A stored namespace. Throws when this server does not know its form: then the server must not start.
 * docs/operations.md#what-a-damaged-store-does
 */
export function readNamespace({ key, value }: ViewRecord): NamespaceRecord {
  const record = stored.safeParse(value)
  if (!record.success || namespaceRecords + record.data.id !== key)
    throw new Error(`record core/${key} is not a namespace that this version can read`)
  return record.data
}
