import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { recordReader } from '../../../core/records/stored-record.ts'
import type { Random } from '../../../lib/system/random.ts'

export type Actor = {
  readonly actor: string
  /** Absent in records of earlier releases. */
  readonly client_id?: string
  readonly entity_id: string
  readonly operation: string
}

/** A version of a key. Times are RFC 3339 text, as in responses. */
export type Version = {
  readonly created: string
  /** When it is deleted, or was; empty for never. */
  readonly deletion: string
  readonly destroyed: boolean
  /** As JSON text; absent once it is destroyed. */
  readonly data?: string
  /** Of an earlier version: its data has a record of its own. */
  readonly isApart?: true
  readonly createdBy: Actor
  readonly deletedBy?: Actor
}

/** A key: its settings, and its current version. docs/contract/kv.md#storage */
export type Head = {
  /** Random: versions of an earlier key with the same path have another id. */
  readonly id: string
  /** 0: no version. */
  readonly current: number
  /** 0 until as many versions exist as are kept. */
  readonly oldest: number
  readonly created: string
  readonly updated: string
  readonly updatedBy: Actor
  readonly maxVersions: number
  readonly casRequired: boolean
  /** Seconds. */
  readonly deleteVersionAfter: number
  /** Pairs, because any text may be a key. */
  readonly customMetadata: readonly (readonly [string, string])[] | null
  readonly metadataCasRequired: boolean
  readonly metadataVersion: number
  readonly changes: number
  /** No later version than this has its data in a record of its own. */
  readonly lastApart?: number
  readonly last?: Version
}

/** What decides whether the data may be read. */
const version = z.object({ deletion: z.string(), destroyed: z.boolean() })

const head = z.object({
  id: z.string(),
  current: z.number(),
  oldest: z.number(),
  last: version.exactOptional(),
})

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
