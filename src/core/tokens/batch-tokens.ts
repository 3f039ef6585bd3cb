import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import { refuse } from '../../errors.ts'
import type { Random } from '../../lib/random.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { namespaceIdOf, suffixOf } from '../namespaces/suffix.ts'
import { RecordCache } from '../record-cache.ts'
import { readToken, type Token } from './token.ts'

/** Seals and opens what is handed out instead of stored. */
export type Sealer = Pick<Barrier, 'sealText' | 'openText'>

/** What a batch token holds of itself; the rest is the same for all of them. docs/contract/tokens-and-policies.md#batch-tokens */
type BatchRecord = Pick<
  Token,
  | 'parent'
  | 'parent_cubbyhole'
  | 'namespace'
  | 'policies'
  | 'path'
  | 'meta'
  | 'display_name'
  | 'creation_time'
  | 'ttl'
  | 'entity_id'
  | 'bound_cidrs'
  | 'mount_accessor'
  | 'mount_moves'
  | 'role'
  | 'cut_off'
  | 'clock_steps'
>

const place = 'out/batch-token'
const prefix = 'hvb.'
/** Half of what the head of a request may hold. */
const maxLength = 65_536
const cacheLimit = 10_000
/** Names, metadata and policies of an opened token that is kept in memory. */
const maxCachedText = 4096

export const isBatchId = (id: string): boolean => id.startsWith(prefix)

/** Batch tokens: all they are is in their id, sealed. */
export class BatchTokens {
  readonly #sealer: Sealer
  /** Opened ones, under a digest that only this process can make: the same token comes many times. */
  readonly #opened = new RecordCache<Token>(cacheLimit, maxCachedText)
  readonly #salt: string

  constructor(sealer: Sealer, random: Random) {
    this.#sealer = sealer
    this.#salt = Buffer.from(random.bytes(32)).toString('latin1')
  }

  /** The id of a batch token. Throws when it would be too long to be sent. */
  async seal(record: BatchRecord): Promise<string> {
    const sealed = await this.#sealer.sealText(place, JSON.stringify(record), record.creation_time + record.ttl * 1000)
    const id = `${prefix}${sealed.toString('base64url')}${suffixOf(record.namespace)}`
    if (id.length > maxLength) {
      const text = `batch tokens cannot be longer than ${maxLength} characters: this one has too much in it`
      throw refuse('invalid', text, { reason: 'metadata_invalid' })
    }
    return id
  }

  /** The token in an id, valid or not; undefined when this server did not seal it. */
  open(id: string): Token | undefined {
    if (id.length > maxLength) return undefined
    const digest = hash('sha256', this.#salt + id, 'base64')
    const known = this.#opened.get(digest)
    if (known !== undefined) return known
    const token = this.#read(id)
    if (token !== undefined) this.#opened.set(digest, token)
    return token
  }

  #read(id: string): Token | undefined {
    const suffix = suffixOf(namespaceIdOf(id))
    const text = id.slice(prefix.length, id.length - suffix.length)
    const sealed = Buffer.from(text, 'base64url')
    // base64 has several spellings of the same bytes, a token has one
    if (sealed.toString('base64url') !== text) return undefined
    const opened = this.#sealer.openText(place, sealed)
    if (opened === undefined) return undefined
    // authenticated: only `seal` writes it, and readToken looks at what rights hang on
    const token = readToken(batchToken(JSON.parse(opened) as BatchRecord))
    return suffixOf(token.namespace) === suffix ? token : undefined
  }
}

/** A batch token as the rest of the server sees tokens. It ends by the second. */
export const batchToken = (record: BatchRecord): Token => ({
  ...record,
  accessor: '',
  cubbyhole_id: '',
  num_uses: 0,
  granted_uses: 0,
  granted_ttl: record.ttl,
  explicit_max_ttl: 0,
  period: 0,
  type: 'batch',
  renewable: false,
  issue_time: record.creation_time,
  expire_time: Math.floor(record.creation_time / 1000) * 1000 + record.ttl * 1000,
  internal: {},
})
