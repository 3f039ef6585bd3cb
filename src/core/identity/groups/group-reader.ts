import { Cache } from '../../../lib/data/cache.ts'
import type { View, ViewEntry, ViewRecord } from '../../barrier/view.ts'
import type { Servers } from '../../servers/servers.ts'
import { type Group, type GroupAlias, readGroup } from './group.ts'
import {
  type Affected,
  aliasIdKey,
  aliasIdPrefix,
  aliasPrefix,
  changesKey,
  childPrefix,
  groupKey,
  groupPrefix,
  memberPrefix,
  membershipPrefix,
  parentPrefix,
} from './group-keys.ts'

/**
 * Groups of an entity: direct ones, and those inherited from their parents. Both are ordered by id and
 * disjoint.
 */
export type Memberships = { readonly direct: readonly Group[]; readonly inherited: readonly Group[] }

/** Maps an alias name to its group. */
export type AliasRow = { readonly group: string; readonly name: string }

/** Who counts changes of groups. */
export type ServersOfGroups = Pick<Servers, 'ownId' | 'isAlone' | 'live'>

type GroupNode = { readonly group: Group; readonly parents: readonly string[] }

/**
 * Reads groups and caches those that logins and requests need. Writers must call the `drop…` methods after
 * the commit. Absent memberships and aliases are cached too.
 */
export class GroupReader {
  readonly #view: View
  readonly #nodes = new Cache<GroupNode>({ name: 'groups', most: 5_000, mostWeight: 16 * 1024 * 1024 })
  /** By entity id. Entries share their group objects. */
  readonly #memberships = new Cache<Memberships>({ name: 'group memberships', most: 10_000 })
  /**
   * All aliases of a mount: group id by alias name. Complete, because a claim may list thousands of unknown
   * groups.
   */
  readonly #aliases = new Cache<Map<string, string>>({
    name: 'group aliases',
    most: 1_000,
    mostWeight: 1_000_000,
    weigh: (groupBy) => groupBy.size + 1,
  })
  /**
   * The change counts of this server (`changesKey`) that were read. This process increments them first, so
   * stored counts are never ahead.
   */
  readonly #changes = new Map<string, number>()
  readonly #servers: ServersOfGroups

  constructor(view: View, servers: ServersOfGroups) {
    this.#view = view
    this.#servers = servers
  }

  async group(id: string): Promise<Group | undefined> {
    return (await this.#node(id))?.group
  }

  #node(id: string): Promise<GroupNode | undefined> {
    return this.#nodes.read(id, async () => {
      const [value, parents] = await Promise.all([this.#view.get(groupKey(id)), this.parentsOf(id)])
      return value === undefined ? undefined : { group: readGroup(value), parents }
    })
  }

  /**
   * The groups of an entity. It inherits the parents of its groups too.
   * docs/contract/tokens-and-policies.md#policies, docs/contract/identity.md#groups
   */
  async membershipsOf(entityId: string): Promise<Memberships> {
    const found = await this.#memberships.read(entityId, async () =>
      this.membershipsBy(await this.directOf(entityId)),
    )
    return found ?? { direct: [], inherited: [] }
  }

  /** The memberships of an entity that is a direct member of these groups. Skips deleted groups. */
  async membershipsBy(directIds: readonly string[]): Promise<Memberships> {
    const direct = await this.#nodesOf(directIds)
    const seen = new Map(direct.map((node) => [node.group.id, node]))
    const inherited: Group[] = []
    for (let level = direct; level.length > 0; ) {
      const parents = new Set(level.flatMap((node) => node.parents.filter((id) => !seen.has(id))))
      level = await this.#nodesOf([...parents])
      for (const node of level) {
        seen.set(node.group.id, node)
        inherited.push(node.group)
      }
    }
    return {
      direct: direct.map(({ group }) => group),
      inherited: inherited.sort((a, b) => (a.id < b.id ? -1 : 1)),
    }
  }

  async #nodesOf(ids: readonly string[]): Promise<GroupNode[]> {
    const nodes = await Promise.all(ids.map((id) => this.#node(id)))
    return nodes.flatMap((node) => node ?? [])
  }

  async ancestorsOf(groupId: string): Promise<ReadonlySet<string>> {
    const seen = new Set<string>()
    for (let level = await this.parentsOf(groupId); level.length > 0; ) {
      for (const id of level) seen.add(id)
      const next = await Promise.all(level.map((id) => this.parentsOf(id)))
      level = [...new Set(next.flat())].filter((id) => !seen.has(id))
    }
    return seen
  }

  directOf = (entityId: string): Promise<string[]> => this.#namesUnder(membershipPrefix(entityId))
  membersOf = (groupId: string): Promise<string[]> => this.#namesUnder(memberPrefix(groupId))
  childrenOf = (groupId: string): Promise<string[]> => this.#namesUnder(childPrefix(groupId))
  parentsOf = (groupId: string): Promise<string[]> => this.#namesUnder(parentPrefix(groupId))

  async #namesUnder(prefix: string): Promise<string[]> {
    const names: string[] = []
    for await (const page of this.#pages(prefix)) names.push(...page)
    return names
  }

  /** What follows a prefix in keys, in pages, from after `after`. */
  async *#pages(prefix: string, after = ''): AsyncGenerator<string[]> {
    for await (const page of this.#view.keyPages(prefix, prefix + after))
      yield page.map((key) => key.slice(prefix.length))
  }

  async memberCount(groupId: string): Promise<number> {
    let count = 0
    for await (const page of this.#pages(memberPrefix(groupId))) count += page.length
    return count
  }

  /** The groups of a namespace, ordered by id. */
  async *groupsOf(namespace: string, after = ''): AsyncGenerator<Group, void, undefined> {
    for await (const page of this.#pages(groupPrefix(namespace), after)) {
      for (const id of page) {
        const value = await this.#view.get(groupKey(id))
        if (value !== undefined) yield readGroup(value)
      }
    }
  }

  /** The group aliases of a namespace, ordered by id. */
  async *aliasesIn(namespace: string, after = ''): AsyncGenerator<GroupAlias, void, undefined> {
    for await (const page of this.#pages(aliasIdPrefix(namespace), after)) {
      for (const id of page) {
        const group = await this.#view.get(aliasIdKey(id))
        const value = typeof group === 'string' ? await this.#view.get(groupKey(group)) : undefined
        const alias = value === undefined ? null : readGroup(value).alias
        if (alias?.id === id) yield alias
      }
    }
  }

  /** Group ids by folded alias name. The caller must not change the map. */
  async aliasesOf(namespace: string, mountAccessor: string): Promise<ReadonlyMap<string, string>> {
    const prefix = aliasPrefix(namespace, mountAccessor)
    return (await this.#aliases.read(prefix, () => this.#loadAliases(prefix))) ?? new Map()
  }

  async #loadAliases(prefix: string): Promise<Map<string, string>> {
    const aliases = new Map<string, string>()
    for await (const page of this.#view.pages(prefix))
      for (const { value } of page) {
        const { name, group } = value as AliasRow // written by GroupStore only, and sealed since
        aliases.set(name, group)
      }
    return aliases
  }

  /**
   * Call after an alias was written or deleted. Updates a cached map; a map that is being read is not cached.
   */
  aliasChanged(namespace: string, mountAccessor: string, name: string, groupId: string | undefined): void {
    const prefix = aliasPrefix(namespace, mountAccessor)
    const known = this.#aliases.get(prefix)
    this.#aliases.drop(prefix)
    if (known === undefined) return
    if (groupId === undefined) known.delete(name)
    else known.set(name, groupId)
    this.#aliases.set(prefix, known)
  }

  /** Number of membership changes, by any server, that were not writes of the group. */
  async changesOf(groupId: string): Promise<number> {
    return sumOf(await this.#view.list(changesKey(groupId)))
  }

  /** Reads the change count of this server. Must be called before `countChange`. */
  async readCount(groupId: string): Promise<void> {
    if (this.#changes.has(groupId)) return
    const stored = await this.#view.get(this.#countKey(groupId))
    // once for each start of a server, as often as such a row is added
    if (stored === undefined && !this.#servers.isAlone) void this.#mergeCounts(groupId).catch(() => undefined)
    // `countChange` may have run in the meantime
    if (!this.#changes.has(groupId)) this.#changes.set(groupId, typeof stored === 'number' ? stored : 0)
  }

  /**
   * Adds the counts of servers that are gone to the one that belongs to no server. If one of them was only
   * paused, what it has counted counts twice.
   */
  async #mergeCounts(groupId: string): Promise<void> {
    const rows = await this.#view.list(changesKey(groupId))
    const live = await this.#servers.live()
    const own = rows.filter(({ key }) => key.startsWith(changesKey(groupId, '')))
    const gone = own.filter(({ key }) => !live.has(key.slice(changesKey(groupId, '').length)))
    if (gone.length === 0) return
    const common = rows.find(({ key }) => key === changesKey(groupId))
    await this.#view.write([
      {
        key: changesKey(groupId),
        value: sumOf([...(common === undefined ? [] : [common]), ...gone]),
        expect: common?.revision ?? 'absent',
        isUncopied: true,
      },
      ...gone.map(({ key, revision }) => ({
        key,
        value: undefined,
        expect: revision,
        isUncopied: true as const,
      })),
    ])
  }

  /**
   * The entry that counts a change. The count is separate from the group's record so that many concurrent
   * logins can join one group without waiting or retrying: each writes the count that it received, in that
   * order.
   */
  countChange(groupId: string): ViewEntry {
    const next = (this.#changes.get(groupId) ?? 0) + 1
    this.#changes.set(groupId, next)
    return { key: this.#countKey(groupId), value: next, isUncopied: true }
  }

  #countKey(groupId: string): string {
    return changesKey(groupId, this.#servers.isAlone ? undefined : this.#servers.ownId)
  }

  drop({ groups, entities }: Omit<Affected, 'aliases'>): void {
    for (const id of groups) this.#nodes.drop(id)
    for (const id of entities) this.#memberships.drop(id)
    if (groups.size > 0)
      this.#memberships.dropWhere(({ direct, inherited }) =>
        [...direct, ...inherited].some(({ id }) => groups.has(id)),
      )
  }

  dropAliases(prefixes: Affected['aliases']): void {
    for (const prefix of prefixes) this.#aliases.drop(prefix)
  }

  forgetChanges(groupId: string): void {
    this.#changes.delete(groupId)
  }

  /** Call after a write with an unknown outcome. */
  dropAll(): void {
    this.#nodes.dropAll()
    this.#memberships.dropAll()
    this.#aliases.dropAll()
  }
}

const sumOf = (counts: readonly ViewRecord[]): number =>
  counts.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : 0), 0)
