import { z } from 'zod'
import { recordReader } from '../records/stored-record.ts'

/** Who sent a request. */
const author = z.object({
  entity_id: z.string(),
  display_name: z.string(),
  /** A keyed hash of the accessor of the token: equal for one token, and of no other use. Empty without a token. */
  token_accessor_hash: z.string(),
})

const change = z.object({
  /** From 1; a deletion counts too. */
  version: z.number(),
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** Of those that a server has made in the same millisecond. */
  order: z.number(),
  operation: z.enum(['create', 'update', 'delete']),
  by: author,
  request_id: z.string(),
  /** The version that the write restored. */
  restored: z.number().exactOptional(),
  /** The names of the changed fields, with those of the members of maps. */
  changed: z.array(z.string()),
  /** The id of the namespace. */
  namespace: z.string(),
  /** The uuid of the mount that served the request, and the path of the object below it. */
  mount: z.string(),
  path: z.string(),
  /** Whom the history belongs to, and what tells the object from others of that owner: usually its path. */
  owner: z.string(),
  object: z.string(),
  /** Reading the object needs `sudo`. */
  sudo: z.literal(true).exactOptional(),
})

const keptChange = change.extend({
  /** The object before the change, as JSON text: the fields that a write of it takes. Null: there was none. */
  form: z.string().nullable(),
})

/** One change of an object, as the log of its namespace has it. */
export type ChangeRow = Readonly<z.output<typeof change>>
/** One change of an object, as its history has it. */
export type KeptChange = Readonly<z.output<typeof keptChange>>
export type Author = z.output<typeof author>

const mountOwner = 'mount-'

/** Under what the history of a mount itself is kept, wherever it is. */
export const ownerOfMount = (uuid: string): string => mountOwner + uuid

/** The uuid of the mount whose own history it is; undefined for that of anything else. */
export const mountOfOwner = (owner: string): string | undefined =>
  owner.startsWith(mountOwner) ? owner.slice(mountOwner.length) : undefined

export const readChange = recordReader<ChangeRow>('change of a configuration', change)
export const readKeptChange = recordReader<KeptChange>('earlier form of a configuration', keptChange)
