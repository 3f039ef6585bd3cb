import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import { refuse } from '../../../errors.ts'
import { Cache, CacheUse } from '../../../lib/data/cache.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { Barrier } from '../../barrier/barrier.ts'
import { namespaceIdOf, suffixOf } from '../../namespaces/suffix.ts'
import { readToken, storedToken, type Token } from './token.ts'

/** Encrypts and decrypts values that clients hold instead of the storage. */
export type Sealer = Pick<Barrier, 'sealText' | 'openText'>

/**
 * The fields encrypted in a batch token's id. All other fields have the same value in every batch token.
 * docs/contract/tokens-and-policies.md#batch-tokens
 */
const batchFields = [
  'parent',
  'namespace',
  'policies',
  'path',
  'meta',
  'display_name',
  'ttl',
  'entity_id',
  'bound_cidrs',
  'mount_accessor',
  'login_accessor',
  'login_metadata',
  'role',
  'parent_cubbyhole',
  'scope',
  'cut_off',
  'mount_moves',
  'clock_steps',
  'creation_time',
] as const
type BatchRecord = Pick<Token, (typeof batchFields)[number]>

/** The fields of a batch token. JSON leaves out those that are undefined. */
export const batchRecord = (token: BatchRecord): BatchRecord =>
  // the type of fromEntries loses the names
  Object.fromEntries(batchFields.map((name) => [name, token[name]])) as BatchRecord

const purpose = 'out/batch-token'
const prefix = 'hvb.'
/** Half of the greatest size of a request head. */
const maxLength = 65_536

export const isBatchId = (id: string): boolean => id.startsWith(prefix)

/** Batch tokens. The id holds the whole token, encrypted; nothing is stored. */
export class BatchTokens {
  readonly #sealer: Sealer
  /** Decrypted tokens, keyed by a digest that only this process can compute. */
  readonly #opened = new Cache<Token>({ name: 'batch tokens', most: 10_000, mostWeight: 16 * 1024 * 1024 })
  readonly #salt: string

  /** Reads of tokens are counted in `use`. */
  constructor(sealer: Sealer, random: Random, use = new CacheUse()) {
    this.#sealer = sealer
    this.#opened.countIn(use)
    this.#salt = Buffer.from(random.bytes(32)).toString('latin1')
  }

  /**
   * Encrypts a batch token and returns its id. Throws `invalid` if the id would not fit in a request head.
   */
  async seal(record: BatchRecord): Promise<string> {
    const sealed = await this.#sealer.sealText(
      purpose,
      JSON.stringify(storedToken(record)),
      record.creation_time + record.ttl * 1000,
    )
    const id = `${prefix}${sealed.toString('base64url')}${suffixOf(record.namespace)}`
    if (id.length > maxLength) {
      const text = `the batch token is too long: its contents must fit in ${maxLength} characters`
      throw refuse('invalid', text, { reason: 'metadata_invalid' })
    }
    return id
  }

  /** Decrypts the token in an id; the token may be invalid. Undefined if this server did not encrypt it. */
  async open(id: string): Promise<Token | undefined> {
    if (id.length > maxLength) return undefined
    const digest = hash('sha256', this.#salt + id, 'base64')
    return await this.#opened.read(digest, () => this.#read(id))
  }

  async #read(id: string): Promise<Token | undefined> {
    const suffix = suffixOf(namespaceIdOf(id))
    const text = id.slice(prefix.length, id.length - suffix.length)
    const sealed = Buffer.from(text, 'base64url')
    // several base64 texts decode to the same bytes; only the canonical one is a token's id
    if (sealed.toString('base64url') !== text) return undefined
    const opened = await this.#sealer.openText(purpose, sealed)
    if (opened === undefined) return undefined
    // the ciphertext is authenticated, so `seal` wrote this JSON; readToken checks the fields that grant
    // rights
    const token = readToken(batchToken(JSON.parse(opened) as BatchRecord))
    return suffixOf(token.namespace) === suffix ? token : undefined
  }
}

/** Completes a batch token to a `Token`. Its expiry time counts from the full second of its creation. */
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
