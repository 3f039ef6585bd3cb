import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View } from '../barrier/view.ts'
import { RecordCache } from '../record-cache.ts'
import { type Group, type GroupAlias, readGroup } from './group.ts'
import {
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

/** Groups of an entity: those it was put into, and those it is in through them. Both in order of their ids, none in both. */
export type Memberships = { readonly direct: readonly Group[]; readonly inherited: readonly Group[] }

/** Who a change concerns: entities by id, or more than it is worth to count. */
export type Affected = ReadonlySet<string> | 'all'

/** The group an alias name stands for. */
export type AliasRow = { readonly group: string; readonly name: string }

type GroupNode = { readonly group: Group; readonly parents: readonly string[] }

const maxNodes = 5_000
const maxNodeText = 65_536
const maxEntities = 10_000
const maxMounts = 1_000
const pageSize = 500
const maxAffected = 1_000

/** Reads groups by key ranges, and keeps copies of what logins and requests ask for. Whoever writes calls the `drop…` methods after the commit. */
export class GroupReader {
  readonly #view: View
  readonly #nodes = new RecordCache<GroupNode>(maxNodes, maxNodeText)
  /** By entity. The groups in it are shared. */
  readonly #memberships = new RecordCache<Memberships>(maxEntities)
  /** Group id by alias name, whole for each mount of a namespace: a claim may name thousands of groups nobody knows here. */
  readonly #aliases = new RecordCache<Map<string, string>>(maxMounts)
  /** What `changesKey` holds, of groups it was asked for. This process counts on, so what is stored is never ahead of it. */
  readonly #changes = new Map<string, number>()

  constructor(view: View) {
    this.#view = view
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

  /** docs/contract/tokens-and-policies.md#policies, docs/contract/identity.md#groups: policies flow down, so an entity is in the parents of its groups too. */
  async membershipsOf(entityId: string): Promise<Memberships> {
    const found = await this.#memberships.read(entityId, async () => this.membershipsBy(await this.directOf(entityId)))
    return found ?? { direct: [], inherited: [] }
  }

  /** What being in these groups directly gives. Groups that are gone are left out. */
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
    return { direct: direct.map(({ group }) => group), inherited: inherited.sort((a, b) => (a.id < b.id ? -1 : 1)) }
  }

  async #nodesOf(ids: readonly string[]): Promise<GroupNode[]> {
    const nodes = await Promise.all(ids.map((id) => this.#node(id)))
    return nodes.flatMap((node) => node ?? [])
  }

  /** All groups above one, however far. */
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
    for await (const page of this.pages(prefix)) names.push(...page)
    return names
  }

  /** What follows a prefix, after `from`, a page at a time; the event loop gets its turn between two. */
  async *pages(prefix: string, from = ''): AsyncGenerator<string[]> {
    for (let after = from; ; ) {
      const keys = await this.#view.listKeys(prefix, { limit: pageSize, ...(after === '' ? {} : { after: prefix + after }) })
      const names = keys.map((key) => key.slice(prefix.length))
      yield names
      const last = names.at(-1)
      if (last === undefined || names.length < pageSize) return
      after = last
      await nextTurn()
    }
  }

  /** How many members a group has, direct ones. */
  async memberCount(groupId: string): Promise<number> {
    let count = 0
    for await (const page of this.pages(memberPrefix(groupId))) count += page.length
    return count
  }

  /** The groups of a namespace in order of their ids. */
  async *groupsOf(namespace: string, after = ''): AsyncGenerator<Group, void, undefined> {
    for await (const page of this.pages(groupPrefix(namespace), after)) {
      for (const id of page) {
        const value = await this.#view.get(groupKey(id))
        if (value !== undefined) yield readGroup(value)
      }
    }
  }

  /** The group aliases of a namespace in order of their ids. */
  async *aliasesIn(namespace: string, after = ''): AsyncGenerator<GroupAlias, void, undefined> {
    for await (const page of this.pages(aliasIdPrefix(namespace), after)) {
      for (const id of page) {
        const group = await this.#view.get(aliasIdKey(id))
        const value = typeof group === 'string' ? await this.#view.get(groupKey(group)) : undefined
        const alias = value === undefined ? null : readGroup(value).alias
        if (alias?.id === id) yield alias
      }
    }
  }

  /** Entities in a group or in one below it. */
  async entitiesBelow(groupId: string): Promise<Affected> {
    const entities = new Set<string>()
    const groups = new Set([groupId])
    for (const id of groups) {
      for await (const page of this.pages(memberPrefix(id))) {
        for (const entity of page) entities.add(entity)
        if (entities.size > maxAffected) return 'all'
      }
      for (const child of await this.childrenOf(id)) groups.add(child)
      if (groups.size > maxAffected) return 'all'
    }
    return entities
  }

  /** Group id by alias name, as names compare. Not to be changed. */
  async aliasesOf(namespace: string, mountAccessor: string): Promise<ReadonlyMap<string, string>> {
    const prefix = aliasPrefix(namespace, mountAccessor)
    return (await this.#aliases.read(prefix, () => this.#loadAliases(prefix))) ?? new Map()
  }

  async #loadAliases(prefix: string): Promise<Map<string, string>> {
    const aliases = new Map<string, string>()
    for (let after: string | undefined; ; ) {
      const rows = await this.#view.list(prefix, { limit: pageSize, ...(after === undefined ? {} : { after }) })
      for (const { value } of rows) {
        const { name, group } = value as AliasRow // written by GroupStore only, and sealed since
        aliases.set(name, group)
      }
      if (rows.length < pageSize) return aliases
      after = rows.at(-1)?.key
      await nextTurn()
    }
  }

  /** An alias was written or removed: known maps follow, those under way are read again. */
  aliasChanged(namespace: string, mountAccessor: string, name: string, groupId: string | undefined): void {
    const prefix = aliasPrefix(namespace, mountAccessor)
    const known = this.#aliases.get(prefix)
    this.#aliases.drop(prefix)
    if (known === undefined) return
    if (groupId === undefined) known.delete(name)
    else known.set(name, groupId)
    this.#aliases.set(prefix, known)
  }

  /** How often members changed otherwise than by a write of the group. */
  async changesOf(groupId: string): Promise<number> {
    const known = this.#changes.get(groupId)
    if (known !== undefined) return known
    const stored = await this.#view.get(changesKey(groupId))
    // someone may have counted on in the meantime
    const count = this.#changes.get(groupId) ?? (typeof stored === 'number' ? stored : 0)
    this.#changes.set(groupId, count)
    return count
  }

  /**
   * The next count. It is told apart from a change of the record, because logins of many entities may join one group at the same moment: each
   * writes the number it was given, in the order the numbers were given out, and none has to wait for or redo another's.
   */
  nextChange(groupId: string): number {
    const next = (this.#changes.get(groupId) ?? 0) + 1
    this.#changes.set(groupId, next)
    return next
  }

  dropGroup(groupId: string): void {
    this.#nodes.drop(groupId)
  }

  dropEntities(affected: Affected): void {
    if (affected === 'all') this.#memberships.dropAll()
    else for (const id of affected) this.#memberships.drop(id)
  }

  /** A group that is gone is not counted any more. */
  forgetChanges(groupId: string): void {
    this.#changes.delete(groupId)
  }

  /** It is not known what was written: nothing in memory can be trusted. */
  dropAll(): void {
    this.#nodes.dropAll()
    this.#memberships.dropAll()
    this.#aliases.dropAll()
  }
}
