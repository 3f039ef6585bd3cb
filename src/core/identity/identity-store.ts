import { fail, refuse } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { formatTime } from '../../lib/time.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { RecordCache } from '../record-cache.ts'
import { writeAttempts } from '../stored-record.ts'
import { Turns } from '../turns.ts'
import { canonicalName } from './canonical-name.ts'
import { aliasOf, type Entity, type EntityAlias, lastLoginDay } from './entity.ts'
import { EntityRecords } from './entity-records.ts'
import { entityKey, IdentityKeys, identityPrefixes } from './identity-keys.ts'
import { type GroupLogin, type GroupRefresh, type MemberGroup, type Memberships, type MembershipsOf, noMemberships } from './memberships.ts'
import { metadataProblem, sameMetadata } from './metadata.ts'
import { newEntity } from './new-entity.ts'
import { foldedName } from './same-name.ts'

export type IdentityStoreParts = {
  /** The core's view: tokens and identity lie in the same one, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  /** Which groups entities are in; without it, none. */
  readonly memberships?: Memberships
}

/** What an entity brings to a request. docs/contract/tokens-and-policies.md#policies */
export type Identity = {
  readonly entity: Entity
  /** Its own and those of its groups in its namespace, each once, in order; never `root`. */
  readonly policies: readonly string[]
  /** Those of its namespace, direct and inherited ones: what path templates see. */
  readonly groups: readonly MemberGroup[]
  /** What groups of other namespaces add, in order of the namespaces. docs/contract/namespaces.md#isolation */
  readonly policiesByNamespace: readonly NamespacePolicies[]
}

/** Policies of one namespace, and the groups there that bring them. */
export type NamespacePolicies = { readonly namespace: string; readonly names: readonly string[]; readonly groups: readonly MemberGroup[] }

/** A login's name at its mount. */
export type LoginAlias = {
  readonly namespace: string
  readonly mountAccessor: string
  readonly name: string
  /** Null: none, of a name no login brought. */
  readonly metadata: Readonly<Record<string, string>> | null
  /** What the provider calls its groups; absent: this is no login, and groups stay as they are. */
  readonly groupNames?: readonly string[]
}

/** The identity of a login: as stored, or as it will be once `entries` are written. */
export type LoginIdentity = {
  readonly identity: Identity
  /** Group names that matched: what a renewal of the token looks at. docs/contract/identity.md#groups */
  readonly groupAliases: readonly string[]
  /** Ids of the groups they stand for. */
  readonly groupIds: readonly string[]
  /** The name was not known here: its entity is made by this login. */
  readonly isNew: boolean
  /** Empty for a known name with known metadata and groups. */
  readonly entries: readonly ViewEntry[]
  /** Further entries, to be asked for once, in the same turn as the write is given to storage. */
  counts(): ViewEntry[]
  /** To be called once the entries are written. */
  written(): void
  /** To be called when they were not written, because someone else was quicker, or may not be, because the write failed. */
  overtaken(): void
}

const cacheLimit = 10_000
/** No cache key of a login: those have slashes. */
const overtaken = 'overtaken'
/** Names, metadata and policies of an entity whose copy is kept in memory; its groups are shared with others. */
const maxCachedText = 8192
const dayMs = 86_400_000
/** With the namespace: a mount that moves to another one keeps its accessor, and its people are others there. */
const cacheKeyOf = ({ namespace, mountAccessor, name }: LoginAlias): string => `${namespace}/${mountAccessor}/${foldedName(name)}`

/** What a change of identities writes, and which entities' copies in memory go with it. */
export type IdentityChange = {
  readonly entries: readonly ViewEntry[]
  readonly entityIds: readonly string[]
  /** Runs once the entries are written. */
  written?(): void
}

/** Entities and their aliases: who a token and a login is. docs/contract/identity.md */
export class IdentityStore {
  readonly records: EntityRecords
  readonly memberships: Memberships
  readonly clock: Clock
  readonly random: Random
  readonly #view: View
  /** By the id of the entity itself, never by one that was merged into it. */
  readonly #identities = new RecordCache<Identity>(cacheLimit, maxCachedText, ({ entity }) => entity)
  /** Entity id by namespace, mount accessor and folded name. May be out of date: the entity decides which aliases it has. */
  readonly #aliasRows = new RecordCache<EntityRef>(cacheLimit, maxCachedText)
  /** Id of the entity that another one was merged into. */
  readonly #mergedInto = new RecordCache<EntityRef>(cacheLimit)
  readonly #turns = new Turns()
  readonly #watches = new Set<Set<string>>()
  #day = { from: 0, text: '' }

  private constructor({ view, clock, random, memberships = noMemberships }: IdentityStoreParts, keys: IdentityKeys) {
    this.#view = view
    this.clock = clock
    this.random = random
    this.memberships = memberships
    this.records = new EntityRecords(view, keys)
  }

  static async open(parts: IdentityStoreParts): Promise<IdentityStore> {
    return new IdentityStore(parts, await IdentityKeys.open(parts.view, parts.random))
  }

  /** The entity of a token with all it brings, or the one it was merged into; undefined when it is gone. It may be disabled. */
  async identityOf(entityId: string): Promise<Identity | undefined> {
    const identity = this.#identities.get(entityId) ?? (await this.#identityOf(entityId))
    if (this.#watches.size > 0 && identity !== undefined) this.#noteUse(identity.entity.id)
    return identity
  }

  async #identityOf(entityId: string): Promise<Identity | undefined> {
    const merged = this.#mergedInto.get(entityId)
    const own = merged === undefined ? await this.#load(entityId) : undefined
    if (own !== undefined) return own
    const target = await this.#mergedInto.read(entityId, async () => {
      const id = await this.records.mergedInto(entityId)
      return id === undefined ? undefined : { entityId: id }
    })
    return target === undefined ? undefined : this.#load(target.entityId)
  }

  #load(entityId: string): Promise<Identity | undefined> {
    return this.#identities.read(entityId, async () => {
      const stored = await this.records.ofAnyNamespace(entityId)
      return stored === undefined ? undefined : identityWith(stored.entity, await this.memberships.membershipsOf(entityId))
    })
  }

  /**
   * Finds the entity of a login by its alias, or draws up both. Nothing is written here: the caller writes the entries together with the token.
   * Metadata of a known alias is replaced as a whole, unless the name was spelt otherwise. The day of the login is noted once a day. docs/contract/identity.md.
   */
  async forLogin(alias: LoginAlias): Promise<LoginIdentity> {
    const cacheKey = cacheKeyOf(alias)
    const known = this.#aliasRows.get(cacheKey)
    const identity = known === undefined ? undefined : await this.identityOf(known.entityId)
    const found = identity === undefined ? undefined : aliasOf(identity.entity, alias.mountAccessor, alias.name)
    if (identity !== undefined && found !== undefined && this.#changesOf(identity.entity, found, alias) === undefined) {
      const groups = await this.#groupsOf(alias, identity.entity.id, 'kept')
      if (groups === undefined || groups.entries.length === 0) return unchanged(identity, groups)
      return this.#change(identityWith(identity.entity, groups.memberships), cacheKey, [], groups)
    }
    if (canonicalName(alias.name) === '') throw refuse('invalid', 'missing name in alias', { reason: 'user_claim_invalid' })
    return this.#readForLogin(alias, cacheKey)
  }

  /** Logins of one name that change its entity, one after the other. */
  inTurn<T>(alias: LoginAlias, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(cacheKeyOf(alias), work)
  }

  /** The same from storage, with the revisions a change hangs on. */
  async #readForLogin(alias: LoginAlias, cacheKey: string): Promise<LoginIdentity> {
    const rowKey = this.records.keys.alias(alias.namespace, alias.mountAccessor, alias.name)
    const row = await this.#view.read(rowKey)
    const stored = typeof row?.value === 'string' ? await this.records.byId(alias.namespace, row.value) : undefined
    const found = stored === undefined ? undefined : aliasOf(stored.entity, alias.mountAccessor, alias.name)
    if (stored === undefined || found === undefined) {
      const fresh = this.#newEntity(alias, await this.records.resembled(alias))
      const nameKey = this.records.keys.entityName(alias.namespace, fresh.name)
      const entries: ViewEntry[] = [
        { key: entityKey(fresh.id), value: fresh, expect: 'absent' },
        { key: nameKey, value: fresh.id, expect: 'absent' },
        { key: rowKey, value: fresh.id, expect: row?.revision ?? 'absent' },
        ...this.records.alikeEntries(alias, fresh.id),
      ]
      const groups = await this.#groupsOf(alias, fresh.id, 'made')
      return this.#change(identityWith(fresh, groups?.memberships), cacheKey, entries, groups, true)
    }
    const changes = this.#changesOf(stored.entity, found, alias)
    const groups = await this.#groupsOf(alias, stored.entity.id, changes === undefined ? 'kept' : 'changed')
    const identity = identityWith({ ...stored.entity, ...changes }, groups?.memberships ?? (await this.memberships.membershipsOf(stored.entity.id)))
    if (changes === undefined && (groups === undefined || groups.entries.length === 0)) {
      this.#aliasRows.set(cacheKey, { entityId: stored.entity.id })
      return unchanged(identity, groups)
    }
    const entries: ViewEntry[] = changes === undefined ? [] : [{ key: entityKey(stored.entity.id), value: identity.entity, expect: stored.revision }]
    return this.#change(identity, cacheKey, entries, groups)
  }

  async #groupsOf(
    { namespace, mountAccessor, groupNames }: LoginAlias,
    entityId: string,
    entity: GroupLogin['entity'],
  ): Promise<GroupRefresh | undefined> {
    return groupNames === undefined ? undefined : this.memberships.refreshForLogin({ namespace, mountAccessor, entityId, entity, names: groupNames })
  }

  /** A fresh entity is kept as written; the copy of a changed one goes, so that the next request reads what is stored then. */
  #change(identity: Identity, cacheKey: string, entries: readonly ViewEntry[], groups: GroupRefresh | undefined, isFresh = false): LoginIdentity {
    const { id } = identity.entity
    const drops = this.#identities.drops
    return {
      identity,
      groupAliases: groups?.matched ?? [],
      groupIds: groups?.groupIds ?? [],
      isNew: isFresh,
      entries: groups === undefined ? entries : [...entries, ...groups.entries],
      counts: () => groups?.counts() ?? [],
      written: () => {
        groups?.written()
        if (isFresh) this.#identities.set(id, identity, drops)
        else this.#identities.drop(id)
        this.#aliasRows.set(cacheKey, { entityId: id })
      },
      overtaken: () => {
        groups?.written()
        this.#identities.drop(id)
        this.#aliasRows.drop(cacheKey)
      },
    }
  }

  /** What a login of a known name changes about its entity; undefined: nothing. */
  #changesOf(entity: Entity, known: EntityAlias, login: LoginAlias): Partial<Entity> | undefined {
    const today = this.#today()
    const isNewDay = lastLoginDay(entity) < today
    const isOther = isChanged(known, login)
    if (!isNewDay && !isOther) return undefined
    const replaced = (): EntityAlias => ({ ...known, metadata: login.metadata, last_update_time: formatTime(this.clock.now()) })
    return {
      ...(isNewDay ? { last_login_day: today } : {}),
      ...(isOther ? { aliases: entity.aliases.map((one) => (one === known ? replaced() : one)) } : {}),
    }
  }

  #newEntity(alias: LoginAlias, resembles: string | undefined): Entity {
    const problem = metadataProblem(alias.metadata ?? {})
    if (problem !== undefined) throw refuse('invalid', `invalid alias metadata: ${problem}`, { reason: 'metadata_invalid' })
    const resemblance = resembles === undefined ? {} : { resembles }
    const draft = { mount_accessor: alias.mountAccessor, name: alias.name, metadata: alias.metadata, custom_metadata: null, ...resemblance }
    return { ...newEntity({ namespace: alias.namespace, now: this.clock.now(), random: this.random }, draft), made_by_login: true }
  }

  #today(): string {
    const now = this.clock.now()
    if (this.#day.text === '' || now < this.#day.from || now >= this.#day.from + dayMs) {
      const from = now - (now % dayMs)
      this.#day = { from, text: formatTime(from).slice(0, -'T00:00:00Z'.length) }
    }
    return this.#day.text
  }

  /**
   * A change that hangs on what is stored: `draw` reads and draws it up, throws to refuse, gives what to answer, or a change to write and answer with;
   * it runs again when someone else was quicker.
   */
  async change<T>(draw: () => Promise<Drawn<T>>): Promise<T> {
    const done = (this.#isLineFree() ? await this.#attempt(draw) : undefined) ?? (await this.inLine(() => this.#retry(draw)))
    return done.result
  }

  /** What a renewal does to the groups of its entity: the token is renewed by then, whoever else changes the entity. docs/contract/identity.md#groups */
  async refreshGroups(login: Omit<GroupLogin, 'entity'>): Promise<void> {
    if (this.#isLineFree() && (await this.memberships.refresh(login))) return
    await this.inLine(async () => {
      for (let attempt = 1; attempt < writeAttempts; attempt += 1) if (await this.memberships.refresh(login)) return
      throw tooBusy()
    })
  }

  /** Changes that were overtaken once, one after the other, so that they do not overtake each other again and again. No other turn is waited for inside. */
  inLine<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.take(overtaken, work)
  }

  #isLineFree(): boolean {
    return this.#turns.workOn(overtaken) === undefined
  }

  async #retry<T>(draw: () => Promise<Drawn<T>>): Promise<Drawn<T>> {
    for (let attempt = 1; attempt < writeAttempts; attempt += 1) {
      const done = await this.#attempt(draw)
      if (done !== undefined) return done
    }
    throw tooBusy()
  }

  /** Undefined: someone else was quicker. */
  async #attempt<T>(draw: () => Promise<Drawn<T>>): Promise<Drawn<T> | undefined> {
    const drawn = await draw()
    return drawn.change === undefined || (await this.#write(drawn.change)) ? drawn : undefined
  }

  async #write({ entries, entityIds, written }: IdentityChange): Promise<boolean> {
    try {
      if (!(await this.#view.write(entries))) return false
    } finally {
      // also when it failed: then it may be stored all the same
      this.forget(entityIds)
    }
    written?.()
    return true
  }

  /** Drops the copies of entities that were changed, or whose groups were. */
  forget(entityIds: readonly string[] | 'all'): void {
    if (entityIds === 'all') {
      this.#identities.dropAll()
      this.#mergedInto.dropAll()
      return
    }
    for (const id of entityIds) {
      this.#identities.drop(id)
      this.#mergedInto.drop(id)
    }
  }

  /** Runs `work` with a set of entity ids out of which each one goes that a login or a token is used of in the meantime. */
  async watching<T>(unused: Set<string>, work: () => Promise<T>): Promise<T> {
    this.#watches.add(unused)
    try {
      return await work()
    } finally {
      this.#watches.delete(unused)
    }
  }

  #noteUse(entityId: string): void {
    for (const unused of this.#watches) unused.delete(entityId)
  }

  /** Everything of a namespace that is gone. Runs again where it was broken off. */
  async removeNamespace(namespace: string): Promise<void> {
    try {
      for (const prefix of identityPrefixes) await this.#view.deletePrefix(`${prefix}${namespace}/`)
    } finally {
      this.forget('all')
      this.#aliasRows.dropAll()
    }
  }
}

/** What a change comes to: the answer, and what to write for it. */
export type Drawn<T> = { readonly result: T; readonly change?: IdentityChange | undefined }

type EntityRef = { readonly entityId: string }

/** `root` never comes from an identity, and policies of a namespace only from its own entities and groups. docs/contract/tokens-and-policies.md#policies, docs/contract/namespaces.md#isolation */
function identityWith(entity: Entity, { direct, inherited }: MembershipsOf = { direct: [], inherited: [] }): Identity {
  if (direct.length === 0) return { entity, policies: entity.policies, groups: [], policiesByNamespace: [] }
  const byNamespace = Map.groupBy([...direct, ...inherited], (group) => group.namespace_id)
  const groups = byNamespace.get(entity.namespace_id) ?? []
  byNamespace.delete(entity.namespace_id)
  return {
    entity,
    policies: policiesOf([entity, ...groups]),
    groups,
    policiesByNamespace: [...byNamespace.keys()].sort().map((namespace) => {
      const theirs = byNamespace.get(namespace) ?? []
      return { namespace, names: policiesOf(theirs), groups: theirs }
    }),
  }
}

/**
 * What an entity brings to a token of this namespace itself. Names of policies mean something in their own namespace only: those of an entity from
 * above, which a token made in a namespace below may have, mean nothing there. docs/contract/namespaces.md#isolation.
 */
export function identityIn({ entity, policies, groups, policiesByNamespace }: Identity, namespace: string): Pick<Identity, 'policies' | 'groups'> {
  if (entity.namespace_id === namespace) return { policies, groups }
  const here = policiesByNamespace.find((one) => one.namespace === namespace)
  return { policies: here?.names ?? [], groups: here?.groups ?? [] }
}

const policiesOf = (holders: readonly { readonly policies: readonly string[] }[]): string[] =>
  [...new Set(holders.flatMap(({ policies }) => policies))].sort()

/** A login that leaves everything as it is. */
const unchanged = (identity: Identity, groups: GroupRefresh | undefined): LoginIdentity => ({
  identity,
  groupAliases: groups?.matched ?? [],
  groupIds: groups?.groupIds ?? [],
  isNew: false,
  entries: [],
  counts: () => [],
  written: ignore,
  overtaken: ignore,
})

/** A login in another spelling changes nothing. */
const isChanged = (known: EntityAlias, login: LoginAlias): boolean => known.name === login.name && !sameMetadata(known.metadata, login.metadata)

const ignore = (): void => undefined

const tooBusy = () => fail('unavailable', 'too many changes to one entity at a time')
