import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { recordReader } from '../../../core/records/stored-record.ts'
import type { Random } from '../../../lib/system/random.ts'

const actor = z.object({
  actor: z.string(),
  /** Absent in records of earlier releases. */
  client_id: z.string().exactOptional(),
  entity_id: z.string(),
  operation: z.string(),
})

export type Actor = z.output<typeof actor>

const version = z.object({
  created: z.string(),
  /** When it is deleted, or was; empty for never. */
  deletion: z.string(),
  destroyed: z.boolean(),
  /** As JSON text; absent once it is destroyed. */
  data: z.string().exactOptional(),
  /** Of an earlier version: its data has a record of its own. */
  isApart: z.literal(true).exactOptional(),
  createdBy: actor,
  deletedBy: actor.exactOptional(),
})

/** A version of a key. Times are RFC 3339 text, as in responses. */
export type Version = z.output<typeof version>

const head = z.object({
  /** Random: versions of an earlier key with the same path have another id. */
  id: z.string(),
  /** 0: no version. */
  current: z.number(),
  /** 0 until as many versions exist as are kept. */
  oldest: z.number(),
  created: z.string(),
  updated: z.string(),
  updatedBy: actor,
  maxVersions: z.number(),
  casRequired: z.boolean(),
  /** Seconds. */
  deleteVersionAfter: z.number(),
  /** Pairs, because any text may be a key. */
  customMetadata: z.array(z.tuple([z.string(), z.string()])).nullable(),
  metadataCasRequired: z.boolean(),
  metadataVersion: z.number(),
  changes: z.number(),
  /** No later version than this has its data in a record of its own. */
  lastApart: z.number().exactOptional(),
  last: version.exactOptional(),
})

/** A key: its settings, and its current version. docs/contract/kv.md#storage */
export type Head = z.output<typeof head>

/** The id of a new key, which no earlier key has. */
export const newKeyId = (random: Random): string => Buffer.from(random.bytes(12)).toString('base64url')

export const readHead = recordReader<Head>('secret', head)
export const readVersion = recordReader<Version>('version of a secret', version)

/**
 * Whether the data of a version cannot be read at this time, in milliseconds since the epoch. Somebody's deletion
 * counts at once: the clock of another server may be a little behind.
 */
export const isGone = ({ destroyed, deletedBy, deletion }: Version, now: number): boolean =>
  destroyed || deletedBy !== undefined || isDeleted(deletion, now)

const isDeleted = (deletion: string, now: number): boolean => deletion !== '' && Date.parse(deletion) <= now
