import { z } from 'zod'
import { textMap } from '../../lib/data/text-map.ts'
import type { ViewRecord } from '../barrier/view.ts'

const fields = z.object({
  /** `root`, or six base62 characters that are never reused. */
  id: z.string().regex(/^[0-9A-Za-z]{6}$/),
  /** Full path with trailing slash; empty for the root. */
  path: z.string().regex(/^(?:[^/]+\/)+$/),
  uuid: z.string(),
  /** True while the namespace is being deleted: it serves no requests. */
  tainted: z.boolean(),
  /** Set during a deletion that gives up on external objects that cannot be revoked. */
  abandoned: z.boolean().exactOptional(),
  /** Hash of the key that unlocks the API; empty if it is not locked. */
  unlock_key_hash: z.string(),
  custom_metadata: textMap,
  /** Absent for a namespace of an earlier version, whose first tokens have no rows. */
  token_rows: z.literal(true).exactOptional(),
})

/** A stored namespace. docs/contract/namespaces.md#managing-namespaces */
export type NamespaceRecord = Readonly<z.output<typeof fields>>

/** Keeps fields of later versions. */
const storedNamespace: z.ZodType<NamespaceRecord> = fields.loose()

/** A tenant of the server. docs/contract/namespaces.md#managing-namespaces */
export type Namespace = Pick<NamespaceRecord, 'id' | 'path'>

/** The root namespace, which always exists and is never stored, locked or deleted. */
export const rootNamespace: NamespaceRecord = {
  id: 'root',
  path: '',
  uuid: '',
  tainted: false,
  unlock_key_hash: '',
  custom_metadata: {},
}

/**
 * The path from a namespace down to another one; empty if they are equal, undefined if the other is not below
 * it.
 */
export const pathBelow = (upper: Namespace, lower: Namespace): string | undefined =>
  lower.path.startsWith(upper.path) ? lower.path.slice(upper.path.length) : undefined

/** The path of the parent namespace; undefined for the root. */
export function parentPath({ path }: Namespace): string | undefined {
  return path === '' ? undefined : path.slice(0, path.lastIndexOf('/', path.length - 2) + 1)
}

/** Key prefix of the namespaces in the core's view: one record for each namespace, by id. */
export const namespaceRecords = 'namespace/'

/** Key prefix of all ids ever used, so that the id of a deleted namespace is never reused. */
export const usedIds = 'namespace-used/'

/**
 * Parses a stored namespace. Throws for an unknown format: the start must fail.
 * docs/operations.md#what-a-damaged-store-does
 */
export function readNamespace({ key, value }: ViewRecord): NamespaceRecord {
  const record = storedNamespace.safeParse(value)
  if (!record.success || namespaceRecords + record.data.id !== key)
    throw new Error(`record core/${key} is not a namespace that this version can read`)
  return record.data
}
