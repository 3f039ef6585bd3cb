import { refuse } from '../../../errors.ts'
import { KeyedMutex } from '../../../lib/concurrency/keyed-mutex.ts'
import { Cache, textIn } from '../../../lib/data/cache.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import type { CacheUses } from '../../records/cache-use.ts'
import { Changes, type Decide } from '../../records/change.ts'
import { canonicalName } from '../canonical-name.ts'
import type { Group } from '../groups/group.ts'
import type { GroupChange, GroupLogin, GroupRefresh } from '../groups/group-parts.ts'
import type { Memberships } from '../groups/group-reader.ts'
import type { GroupStore } from '../groups/group-store.ts'
import { entitiesPrefix, entityKey, IdentityKeys, identityPrefixes, idInKey } from '../identity-keys.ts'
import { metadataProblem, sameMetadata, shownOfLogin } from '../metadata.ts'
import { foldedName } from '../same-name.ts'
import { aliasOf, type Entity, type EntityAlias, lastLoginDay } from './entity.ts'
import { EntityRecords } from './entity-records.ts'
import { newEntity } from './new-entity.ts'

export type IdentityStoreParts = {
  /** The core's view. It stores both tokens and identity, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly memberships: GroupStore
  readonly caches?: CacheUses
}

/**
 * An entity with the policies and groups that it adds to a request.
 * docs/contract/tokens-and-policies.md#policies
 */
export type Identity = {
  readonly entity: Entity
  /** Its own policies and those of its groups in its namespace: unique, sorted, never `root`. */
  readonly policies: readonly string[]
  /** Direct and inherited groups of its namespace, for path templates. */
  readonly groups: readonly Group[]
  /** Policies of groups in other namespaces, ordered by namespace. docs/contract/namespaces.md#isolation */
  readonly policiesByNamespace: readonly NamespacePolicies[]
}

/** Policies of one namespace, and the groups that add them. */
type NamespacePolicies = {
  readonly namespace: string
  readonly names: readonly string[]
  readonly groups: readonly Group[]
}

/** A login's name at its mount. */
export type LoginAlias = {
  readonly namespace: string
  readonly mountAccessor: string
  readonly name: string
  /** Null if the name does not come from a login. */
  readonly metadata: Readonly<Record<string, string>> | null
  /** Group names from the provider; absent: not a login, so groups do not change. */
  readonly groupNames?: readonly string[]
}

/** The identity of a login: as stored, or as it will be once `entries` are written. */
export type LoginIdentity = {
  readonly identity: Identity
  /** Group names that matched; the token stores them for renewals. docs/contract/identity.md#groups */
  readonly groupAliases: readonly string[]
  /** Ids of the matched groups. */
  readonly groupIds: readonly string[]
  /** Whether this login creates the entity. */
  readonly isNew: boolean
  /** Empty if the login changes neither entity nor groups. */
  readonly entries: readonly ViewEntry[]
  /** Further entries. Call it once, synchronously before the write: each call increments the counts. */
  counts(): ViewEntry[]
  /** Call after the entries are written. */
  written(): void
  /**
   * Drops cached copies. Call if the write was refused because of another change or its outcome is unknown.
   */
  invalidate(): void
}

/** The key of changes that had a conflict. */
const conflicts = 'conflicts'
const dayMs = 86_400_000
/**
 * Includes the namespace: a mount keeps its accessor when it moves to another one, but its users get new
 * entities.
 */
const cacheKeyOf = ({ namespace, mountAccessor, name }: LoginAlias): string =>
  `${namespace}/${mountAccessor}/${foldedName(name)}`

/** The entries of a change, and the entities to drop from the cache. */
export type IdentityChange = {
  readonly entries: readonly ViewEntry[]
  readonly entityIds: readonly string[]
  /** Called after the entries are written. */
  written?(): void
}

/** Stores entities and their aliases, to which logins and tokens belong. docs/contract/identity.md */
export class IdentityStore {
  readonly records: EntityRecords
  readonly memberships: GroupStore
  readonly clock: Clock
  readonly random: Random
  readonly #view: View
  /** By the entity's own id, never by the id of an entity that was merged into it. */
  readonly #identities = new Cache<Identity>({
    name: 'identities',
    most: 10_000,
    mostWeight: 16 * 1024 * 1024,
    // groups are shared
    weigh: ({ entity }, key) => textIn(entity, key),
  })
  /**
   * Entity id by namespace, mount accessor and folded name. May be outdated, also because other servers write
   * the rows, so the aliases of the entity are checked.
   */
  readonly #aliasRows = new Cache<EntityRef>({
    name: 'alias rows',
    most: 10_000,
    mostWeight: 16 * 1024 * 1024,
  })
  readonly #changes: Changes
  /** Logins of one name that change its entity. */
  readonly #mutex = new KeyedMutex()
  readonly #watches = new Set<Set<string>>()
  #day = { from: 0, text: '' }

  private constructor({ view, clock, random, memberships, caches }: IdentityStoreParts, keys: IdentityKeys) {
    this.#view = view
    this.#changes = new Changes({ view, tooMany: 'too many changes to one entity at a time' })
    this.clock = clock
    this.random = random
    this.memberships = memberships
    this.records = new EntityRecords(view, keys)
    if (caches !== undefined) this.#identities.countIn(caches.of('identities'))
    view.watch(entitiesPrefix, (written) => this.#identities.follow(written, idInKey))
  }

  static async open(parts: IdentityStoreParts): Promise<IdentityStore> {
    return new IdentityStore(parts, await IdentityKeys.open(parts.view, parts.random))
  }

  /**
   * The identity of a token's entity, or of the entity it was merged into; undefined if deleted. It may be
   * disabled.
   */
  async identityOf(entityId: string): Promise<Identity | undefined> {
    const identity = this.#identities.get(entityId) ?? (await this.#identityOf(entityId))
    if (this.#watches.size > 0 && identity !== undefined) this.#recordUse(identity.entity.id)
    return identity
  }

  async #identityOf(entityId: string): Promise<Identity | undefined> {
    const own = await this.#load(entityId)
    if (own !== undefined) return own
    const target = await this.records.mergedInto(entityId)
    return target === undefined ? undefined : this.#load(target)
  }

  #load(entityId: string): Promise<Identity | undefined> {
    return this.#identities.read(entityId, async () => {
      const [stored, memberships] = await Promise.all([
        this.records.ofAnyNamespace(entityId),
        this.memberships.membershipsOf(entityId),
      ])
      return stored === undefined ? undefined : identityWith(stored.entity, memberships)
    })
  }

  /**
   * Finds the entity of a login by its alias, or prepares both. Writes nothing: the caller writes the entries
   * together with the token. The login replaces the metadata of an existing alias, unless it spells the name
   * differently. The day of the login is stored once a day. Throws `invalid`. docs/contract/identity.md
   */
  async forLogin(alias: LoginAlias): Promise<LoginIdentity> {
    const cacheKey = cacheKeyOf(alias)
    const known = this.#aliasRows.get(cacheKey)
    const identity = known === undefined ? undefined : await this.identityOf(known.entityId)
    const found =
      identity === undefined ? undefined : aliasOf(identity.entity, alias.mountAccessor, alias.name)
    if (
      identity !== undefined &&
      found !== undefined &&
      this.#changesOf(identity.entity, found, alias) === undefined
    ) {
      const groups = await this.#groupsOf(alias, identity.entity.id, 'unchanged')
      if (groups === undefined || groups.entries.length === 0) return unchanged(identity, groups)
      return this.#change(identityWith(identity.entity, groups.memberships), cacheKey, [], groups)
    }
    if (canonicalName(alias.name) === '')
      throw refuse('invalid', 'missing name in alias', {
        reason: 'user_claim_invalid',
        isFailureElsewhere: true,
      })
    return this.#readForLogin(alias, cacheKey, known === undefined)
  }

  /** Whether no login of this name changes its entity now. */
  isFree(alias: LoginAlias): boolean {
    return this.#mutex.pending(cacheKeyOf(alias)) === undefined
  }

  /** Serializes logins of one name that change its entity. */
  runExclusive<T>(alias: LoginAlias, work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive(cacheKeyOf(alias), work)
  }

  /**
   * Like `forLogin`, but reads from storage, with the revisions that a change must expect. If the login may be
   * the first of its name, it reads what that needs at the same time.
   */
  async #readForLogin(alias: LoginAlias, cacheKey: string, mayBeFirst: boolean): Promise<LoginIdentity> {
    const { drops } = this.#identities
    const rowKey = this.records.keys.alias(alias.namespace, alias.mountAccessor, alias.name)
    const [row, resembled] = await Promise.all([
      this.#view.read(rowKey),
      mayBeFirst ? this.records.resembled(alias) : undefined,
    ])
    const [stored] =
      typeof row?.value === 'string'
        ? await Promise.all([
            this.records.byId(alias.namespace, row.value),
            // needed below, and cached then
            this.memberships.membershipsOf(row.value),
          ])
        : []
    const found = stored === undefined ? undefined : aliasOf(stored.entity, alias.mountAccessor, alias.name)
    if (stored === undefined || found === undefined) {
      const fresh = this.#newEntity(alias, mayBeFirst ? resembled : await this.records.resembled(alias))
      const nameKey = this.records.keys.entityName(alias.namespace, fresh.name)
      const entries: ViewEntry[] = [
        // no other entity can have its random id
        { key: entityKey(fresh.id), value: fresh, isUncopied: true },
        { key: nameKey, value: fresh.id, expect: 'absent', isUncopied: true },
        { key: rowKey, value: fresh.id, expect: row?.revision ?? 'absent', isUncopied: true },
        ...this.records.alikeEntries(alias, fresh.id),
      ]
      const groups = await this.#groupsOf(alias, fresh.id, 'created')
      return this.#change(identityWith(fresh, groups?.memberships), cacheKey, entries, groups, true)
    }
    const changes = this.#changesOf(stored.entity, found, alias)
    const groups = await this.#groupsOf(
      alias,
      stored.entity.id,
      changes === undefined ? 'unchanged' : 'changed',
    )
    const identity = identityWith(
      { ...stored.entity, ...changes },
      groups?.memberships ?? (await this.memberships.membershipsOf(stored.entity.id)),
    )
    if (changes === undefined && (groups === undefined || groups.entries.length === 0)) {
      this.#aliasRows.set(cacheKey, { entityId: stored.entity.id })
      // replaces an old copy: another server may have stored the day of the login, which is not reported
      this.#identities.set(stored.entity.id, identity, drops)
      return unchanged(identity, groups)
    }
    const entries: ViewEntry[] =
      changes === undefined
        ? []
        : [
            {
              key: entityKey(stored.entity.id),
              value: identity.entity,
              expect: stored.revision,
              ...(changes.aliases === undefined ? { isUncopied: true } : {}),
            },
          ]
    return this.#change(identity, cacheKey, entries, groups)
  }

  async #groupsOf(
    { namespace, mountAccessor, groupNames }: LoginAlias,
    entityId: string,
    entity: GroupLogin['entity'],
  ): Promise<GroupRefresh | undefined> {
    return groupNames === undefined
      ? undefined
      : this.memberships.refreshForLogin({ namespace, mountAccessor, entityId, entity, names: groupNames })
  }

  /** A login with changes. Afterwards, a new entity is cached and a changed one dropped from the cache. */
  #change(
    identity: Identity,
    cacheKey: string,
    entries: readonly ViewEntry[],
    groups: GroupRefresh | undefined,
    isFresh = false,
  ): LoginIdentity {
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
      invalidate: () => {
        groups?.written()
        this.#identities.drop(id)
        this.#aliasRows.drop(cacheKey)
      },
    }
  }

  /** The changes that a login of an existing alias makes to its entity, if any. */
  #changesOf(entity: Entity, known: EntityAlias, login: LoginAlias): Partial<Entity> | undefined {
    const today = this.#today()
    const isNewDay = lastLoginDay(entity) < today
    const isAliasChanged = isChanged(known, login)
    if (!isNewDay && !isAliasChanged) return undefined
    const replaced = (): EntityAlias => ({
      ...known,
      metadata: login.metadata,
      last_update_time: formatTime(this.clock.now()),
    })
    return {
      ...(isNewDay ? { last_login_day: today } : {}),
      ...(isAliasChanged ? { aliases: entity.aliases.map((one) => (one === known ? replaced() : one)) } : {}),
    }
  }

  #newEntity(alias: LoginAlias, resembles: string | undefined): Entity {
    const problem = metadataProblem(alias.metadata ?? {}, { shown: shownOfLogin })
    if (problem !== undefined)
      throw refuse('invalid', `invalid alias metadata: ${problem}`, { reason: 'metadata_invalid' })
    const resemblance = resembles === undefined ? {} : { resembles }
    const draft = {
      mount_accessor: alias.mountAccessor,
      name: alias.name,
      metadata: alias.metadata,
      custom_metadata: null,
      ...resemblance,
    }
    return {
      ...newEntity({ namespace: alias.namespace, now: this.clock.now(), random: this.random }, draft),
      made_by_login: true,
    }
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
   * Makes a change that depends on stored records. `plan` reads them and returns a result, with the entries
   * to write if any; it throws to refuse. If the records change before the write, `plan` is called again.
   * Throws `unavailable` after too many attempts.
   */
  async change<T>(plan: () => Promise<PlannedChange<T>>): Promise<T> {
    const attempt = () => this.#attempt(plan)
    const done =
      (this.#hasNoConflict() ? await attempt() : undefined) ??
      (await this.runAfterConflict(async (_, overtaken) => {
        const again = await attempt()
        if (again === undefined) throw overtaken
        return again
      }))
    return done.result
  }

  /**
   * Updates the groups of an entity after a renewal. Throws `unavailable` after too many conflicts.
   * docs/contract/identity.md#groups
   */
  async refreshGroups(login: Omit<GroupLogin, 'entity'>): Promise<void> {
    if (this.#hasNoConflict() && (await this.memberships.refresh(login))) return
    await this.runAfterConflict(async (_, overtaken) => {
      if (!(await this.memberships.refresh(login))) throw overtaken
    })
  }

  /**
   * Serializes changes that had a conflict, so that they cannot conflict with each other again. `decide` must
   * not wait for another such change.
   */
  runAfterConflict<T>(decide: Decide<T>): Promise<T> {
    return this.#changes.run(conflicts, decide)
  }

  #hasNoConflict(): boolean {
    return this.#changes.pending(conflicts) === undefined
  }

  /** Undefined if a record changed in the meantime. */
  async #attempt<T>(plan: () => Promise<PlannedChange<T>>): Promise<PlannedChange<T> | undefined> {
    const planned = await plan()
    return planned.change === undefined || (await this.#write(planned.change)) ? planned : undefined
  }

  async #write({ entries, entityIds, written }: IdentityChange): Promise<boolean> {
    try {
      if (!(await this.#view.write(entries))) return false
    } finally {
      // also after an error: the write may have been committed
      this.#forget(entityIds)
    }
    written?.()
    return true
  }

  /** Drops entities from the cache that changed. */
  #forget(entityIds: readonly string[]): void {
    for (const id of entityIds) this.#identities.drop(id)
  }

  /** Drops entities from the cache whose groups changed. */
  groupsChanged(change: GroupChange): void {
    if (change === 'all') {
      this.#identities.dropAll()
      return
    }
    const { groups, entities } = change
    for (const id of entities) this.#identities.drop(id)
    if (groups.size > 0) this.#identities.dropWhere((identity) => isMember(identity, groups))
  }

  /** Runs `work`; meanwhile removes from `unused` each entity with a login or with a use of a token. */
  async watching<T>(unused: Set<string>, work: () => Promise<T>): Promise<T> {
    this.#watches.add(unused)
    try {
      return await work()
    } finally {
      this.#watches.delete(unused)
    }
  }

  #recordUse(entityId: string): void {
    for (const unused of this.#watches) unused.delete(entityId)
  }

  /**
   * Deletes all entities of a removed namespace. Copies of them do no harm: no token of the namespace is valid
   * any more, and no other entity gets one of their ids. Idempotent.
   */
  async removeNamespace(namespace: string): Promise<void> {
    const view = this.#view.view('', { isUncopied: true })
    try {
      for (const prefix of identityPrefixes) await view.deletePrefix(`${prefix}${namespace}/`)
    } finally {
      this.#identities.dropAll()
      this.#aliasRows.dropAll()
    }
  }
}

/** The result of a change, and the entries to write for it. */
export type PlannedChange<T> = { readonly result: T; readonly change?: IdentityChange | undefined }

type EntityRef = { readonly entityId: string }

/**
 * Combines an entity with its groups. Policies apply only in the namespace of the entity or group that has
 * them. docs/contract/tokens-and-policies.md#policies, docs/contract/namespaces.md#isolation
 */
function identityWith(
  entity: Entity,
  { direct, inherited }: Memberships = { direct: [], inherited: [] },
): Identity {
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
 * The policies and groups that an identity adds to a token of this namespace. Policy names are relative to
 * their namespace, so a token in a child namespace gets none of the policies of an entity from an ancestor
 * namespace. docs/contract/namespaces.md#isolation
 */
export function identityIn(
  { entity, policies, groups, policiesByNamespace }: Identity,
  namespace: string,
): Pick<Identity, 'policies' | 'groups'> {
  if (entity.namespace_id === namespace) return { policies, groups }
  const here = policiesByNamespace.find((one) => one.namespace === namespace)
  return { policies: here?.names ?? [], groups: here?.groups ?? [] }
}

const isMember = ({ groups, policiesByNamespace }: Identity, ids: ReadonlySet<string>): boolean =>
  [groups, ...policiesByNamespace.map((set) => set.groups)].some((some) => some.some(({ id }) => ids.has(id)))

const policiesOf = (holders: readonly { readonly policies: readonly string[] }[]): string[] =>
  [...new Set(holders.flatMap(({ policies }) => policies))].sort()

/** A login without changes. */
const unchanged = (identity: Identity, groups: GroupRefresh | undefined): LoginIdentity => ({
  identity,
  groupAliases: groups?.matched ?? [],
  groupIds: groups?.groupIds ?? [],
  isNew: false,
  entries: [],
  counts: () => [],
  written: ignore,
  invalidate: ignore,
})

/** Whether a login replaces the metadata. A login that spells the name differently does not. */
const isChanged = (known: EntityAlias, login: LoginAlias): boolean =>
  known.name === login.name && !sameMetadata(known.metadata, login.metadata)

const ignore = (): void => undefined
