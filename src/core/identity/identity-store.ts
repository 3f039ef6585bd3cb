import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { hex, type Random } from '../../lib/random.ts'
import { formatTime } from '../../lib/time.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../keyed-hash.ts'
import { RecordCache } from '../record-cache.ts'
import { Turns } from '../turns.ts'
import { aliasOf, type Entity, type EntityAlias, readEntity } from './entity.ts'
import { metadataProblem, sameMetadata } from './metadata.ts'

export type IdentityStoreParts = {
  /** The core's view: tokens and identity lie in the same one, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
}

/** A group an entity is in. None exist yet. */
export type Group = { readonly id: string; readonly name: string; readonly metadata: Readonly<Record<string, string>> | null }

/** What an entity brings to a request. Contract tokens §1.4. */
export type Identity = { readonly entity: Entity; readonly policies: readonly string[]; readonly groups: readonly Group[] }

/** A login's name at its mount. */
export type LoginAlias = {
  readonly namespace: string
  readonly mountAccessor: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
}

/** The identity of a login: as stored, or as it will be once `entries` are written. */
export type LoginIdentity = {
  readonly identity: Identity
  /** Empty for a known name with known metadata. */
  readonly entries: readonly ViewEntry[]
  /** To be called once the entries are written. */
  written(): void
  /** To be called when they were not written, because someone else was quicker, or may not be, because the write failed. */
  overtaken(): void
}

const cacheLimit = 10_000
/** Names, metadata and policies of an entity whose copy is kept in memory. */
const maxCachedText = 8192
const aliasKey = ({ mountAccessor, name }: LoginAlias): string => `${mountAccessor}/${name.toLowerCase()}`
const entityKey = (id: string): string => `entity/${id}`

/** Entities and their aliases. Contract tokens §3.3. */
export class IdentityStore {
  readonly #view: View
  readonly #clock: Clock
  readonly #random: Random
  readonly #hash: KeyedHash
  readonly #identities = new RecordCache<Identity>(cacheLimit, maxCachedText)
  /** Entity id by mount accessor and lower-case name. */
  readonly #aliasRows = new RecordCache<AliasRow>(cacheLimit, maxCachedText)
  readonly #turns = new Turns()

  private constructor({ view, clock, random }: IdentityStoreParts, hash: KeyedHash) {
    this.#view = view
    this.#clock = clock
    this.#random = random
    this.#hash = hash
  }

  static async open(parts: IdentityStoreParts): Promise<IdentityStore> {
    const { name } = await openKeyedHashes(parts.view, parts.random, 'identity-keys', ['name'])
    return new IdentityStore(parts, name)
  }

  /** The entity of a token with all it brings; undefined when it is gone. It may be disabled. */
  async identityOf(entityId: string): Promise<Identity | undefined> {
    return this.#identities.read(entityId, async () => {
      const value = await this.#view.get(entityKey(entityId))
      return value === undefined ? undefined : identityWith(readEntity(value))
    })
  }

  /**
   * Finds the entity of a login by its alias, or draws up both. Nothing is written here: the caller writes the entries together with the token.
   * Metadata of a known alias is replaced as a whole, unless the name was spelt otherwise. Contract tokens §3.3.
   */
  async forLogin(alias: LoginAlias): Promise<LoginIdentity> {
    if (alias.name === '') throw refuse('invalid', 'missing name in alias', { reason: 'user_claim_invalid' })
    const cacheKey = aliasKey(alias)
    const known = this.#aliasRows.get(cacheKey)
    const identity = known === undefined ? undefined : await this.identityOf(known.entityId)
    const found = identity === undefined ? undefined : aliasOf(identity.entity, alias.mountAccessor, alias.name)
    if (identity !== undefined && found !== undefined && !isChanged(found, alias)) {
      return { identity, entries: [], written: ignore, overtaken: ignore }
    }
    return this.#readForLogin(alias, cacheKey)
  }

  /** Logins of one name that change its entity, one after the other. */
  inTurn<T>(alias: LoginAlias, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(aliasKey(alias), work)
  }

  /** The same from storage, with the revisions a change hangs on. */
  async #readForLogin(alias: LoginAlias, cacheKey: string): Promise<LoginIdentity> {
    const rowKey = `entity-alias/${alias.mountAccessor}/${this.#nameHash(alias.namespace, alias.name)}`
    const row = await this.#view.read(rowKey)
    const record = row === undefined || typeof row.value !== 'string' ? undefined : await this.#view.read(entityKey(row.value))
    const entity = record === undefined ? undefined : readEntity(record.value)
    const found = entity === undefined ? undefined : aliasOf(entity, alias.mountAccessor, alias.name)
    if (record === undefined || entity === undefined || found === undefined) {
      const fresh = this.#newEntity(alias)
      const nameKey = `entity-name/${this.#nameHash(alias.namespace, fresh.name)}`
      return this.#change(
        fresh,
        cacheKey,
        [
          { key: entityKey(fresh.id), value: fresh, expect: 'absent' },
          { key: nameKey, value: fresh.id, expect: 'absent' },
          { key: rowKey, value: fresh.id, expect: row?.revision ?? 'absent' },
        ],
        true,
      )
    }
    if (!isChanged(found, alias)) {
      this.#aliasRows.set(cacheKey, { entityId: entity.id })
      return { identity: identityWith(entity), entries: [], written: ignore, overtaken: ignore }
    }
    const now = formatTime(this.#clock.now())
    const aliases = entity.aliases.map((one) => (one === found ? { ...one, metadata: alias.metadata, last_update_time: now } : one))
    const changed: Entity = { ...entity, aliases }
    return this.#change(changed, cacheKey, [{ key: entityKey(entity.id), value: changed, expect: record.revision }], false)
  }

  /** A fresh entity is kept as written; the copy of a changed one goes, so that the next request reads what is stored then. */
  #change(entity: Entity, cacheKey: string, entries: readonly ViewEntry[], isFresh: boolean): LoginIdentity {
    const identity = identityWith(entity)
    const drops = this.#identities.drops
    return {
      identity,
      entries,
      written: () => {
        if (isFresh) this.#identities.set(entity.id, identity, drops)
        else this.#identities.drop(entity.id)
        this.#aliasRows.set(cacheKey, { entityId: entity.id })
      },
      overtaken: () => {
        this.#identities.drop(entity.id)
        this.#aliasRows.drop(cacheKey)
      },
    }
  }

  #newEntity(alias: LoginAlias): Entity {
    const problem = metadataProblem(alias.metadata)
    if (problem !== undefined) throw refuse('invalid', `invalid alias metadata: ${problem}`, { reason: 'metadata_invalid' })
    const now = formatTime(this.#clock.now())
    const suffix = alias.namespace === 'root' ? '' : `.${alias.namespace}`
    const id = this.#random.uuid() + suffix
    const first: EntityAlias = {
      id: this.#random.uuid() + suffix,
      canonical_id: id,
      mount_accessor: alias.mountAccessor,
      name: alias.name,
      metadata: alias.metadata,
      custom_metadata: null,
      merged_from_canonical_ids: null,
      local: false,
      creation_time: now,
      last_update_time: now,
    }
    return {
      id,
      name: `entity_${hex(this.#random, 8)}`,
      namespace_id: alias.namespace,
      metadata: null,
      policies: [],
      disabled: false,
      merged_entity_ids: null,
      aliases: [first],
      creation_time: now,
      last_update_time: now,
    }
  }

  #nameHash(namespace: string, name: string): string {
    return this.#hash(`${namespace}/${name.toLowerCase()}`).toString('hex')
  }
}

type AliasRow = { readonly entityId: string }

const identityWith = (entity: Entity): Identity => ({ entity, policies: entity.policies, groups: [] })

/** A login in another spelling changes nothing. */
const isChanged = (known: EntityAlias, login: LoginAlias): boolean => known.name === login.name && !sameMetadata(known.metadata, login.metadata)

const ignore = (): void => undefined
