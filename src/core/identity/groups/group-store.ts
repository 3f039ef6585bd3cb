import { pagesOf } from '../../../lib/data/pages.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { View, ViewEntry } from '../../barrier/view.ts'
import type { Mount } from '../../mounts/mount.ts'
import { Changes } from '../../records/change.ts'
import { canonicalName } from '../canonical-name.ts'
import { IdentityKeys } from '../identity-keys.ts'
import { foldedName } from '../same-name.ts'
import type { Group, GroupAlias } from './group.ts'
import {
  type AliasWrite,
  aliasRemoval,
  aliasWrite,
  groupOfAlias,
  type WrittenAlias,
} from './group-alias-write.ts'
import { dropMembers, groupRemoval } from './group-end.ts'
import {
  addAffected,
  deletedGroupPrefix,
  groupPrefix,
  groupsPrefix,
  membershipsPrefix,
  nothingAffected,
} from './group-keys.ts'
import {
  type GroupChange,
  type GroupLogin,
  type GroupParts,
  type GroupRefresh,
  type GroupStep,
  groupNameKey,
  type MembershipChange,
  storedGroup,
} from './group-parts.ts'
import { GroupReader, type Memberships, type ServersOfGroups } from './group-reader.ts'
import { groupRefresh } from './group-refresh.ts'
import { type GroupWrite, groupWrite, membershipRows, type Written } from './group-write.ts'

export type GroupStoreParts = {
  /** The core's view. It stores tokens, entities and groups, so that a login is one write. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly servers: ServersOfGroups
  mountOf(accessor: string): Mount | undefined
  /** Whether `upper` is `lower` or one of its ancestors. */
  isSameOrAbove(upper: string, lower: string): boolean
}

/** Data of a group that is stored outside its record. */
export type GroupDetails = {
  readonly memberEntityIds: readonly string[]
  readonly memberGroupIds: readonly string[]
  readonly parentGroupIds: readonly string[]
  /** Number of all changes, including those by logins. */
  readonly modifyIndex: number
}

/** A group in a list. */
export type ListedGroup = Group & { readonly num_member_entities: number; readonly num_parent_groups: number }

/** Stores groups, their aliases and their members. docs/contract/identity.md#groups */
export class GroupStore {
  readonly #parts: GroupParts
  readonly #listeners: ((affected: GroupChange) => void)[] = []
  readonly #changes: Changes

  private constructor(parts: GroupParts) {
    this.#parts = parts
    this.#changes = new Changes({ view: parts.view, tooMany: 'too many changes to groups at a time' })
  }

  /** Opens the store and completes deletions of groups that a stop of a server interrupted. */
  static async open(parts: GroupStoreParts): Promise<GroupStore> {
    const keys = await IdentityKeys.open(parts.view, parts.random)
    const full: GroupParts = { ...parts, keys, reader: new GroupReader(parts.view, parts.servers) }
    const store = new GroupStore(full)
    await store.completeRemovals()
    for (const prefix of [groupsPrefix, membershipsPrefix])
      parts.view.watch(prefix, (written) => store.#follow(written))
    return store
  }

  /** Completes deletions of groups that a stop of any server interrupted. Idempotent. */
  async completeRemovals(): Promise<void> {
    for (const key of await this.#parts.view.listKeys(deletedGroupPrefix))
      await dropMembers(this.#parts, key.slice(deletedGroupPrefix.length))
  }

  /** Calls `listener` after each commit with what it affects. */
  onChange(listener: (affected: GroupChange) => void): void {
    this.#listeners.push(listener)
  }

  /** Drops copies of what has been written, by any server. */
  #follow(written: readonly string[] | undefined): void {
    if (written === undefined) this.#dropCaches()
    else {
      const affected = nothingAffected()
      addAffected(affected, written)
      this.#parts.reader.dropAliases(affected.aliases)
      this.#notify(affected)
    }
  }

  /** What the keys of a namespace's groups begin with, from the root of the storage. */
  recordsOf(namespace: string): string {
    return this.#parts.view.fromRoot({ key: groupPrefix(namespace), value: undefined }).key
  }

  membershipsOf(entityId: string): Promise<Memberships> {
    return this.#parts.reader.membershipsOf(entityId)
  }

  async byId(namespace: string, id: string): Promise<Group | undefined> {
    return (await storedGroup(this.#parts, namespace, id))?.group
  }

  async byName(namespace: string, name: string): Promise<Group | undefined> {
    const id =
      canonicalName(name) === ''
        ? undefined
        : await this.#parts.view.get(groupNameKey(this.#parts, namespace, name))
    return typeof id === 'string' ? this.byId(namespace, id) : undefined
  }

  async byAliasId(namespace: string, aliasId: string): Promise<Group | undefined> {
    return (await groupOfAlias(this.#parts, namespace, aliasId))?.group
  }

  async byAlias(namespace: string, mountAccessor: string, name: string): Promise<Group | undefined> {
    const id = (await this.#parts.reader.aliasesOf(namespace, mountAccessor)).get(foldedName(name))
    return id === undefined ? undefined : this.byId(namespace, id)
  }

  async details(group: Group): Promise<GroupDetails> {
    const { reader } = this.#parts
    const [memberEntityIds, memberGroupIds, parentGroupIds, changes] = await Promise.all([
      reader.membersOf(group.id),
      reader.childrenOf(group.id),
      reader.parentsOf(group.id),
      reader.changesOf(group.id),
    ])
    return { memberEntityIds, memberGroupIds, parentGroupIds, modifyIndex: group.modify_index + changes }
  }

  /** Groups of a namespace, ordered by id, with their numbers of members and parents. */
  async *listed(namespace: string, after: string): AsyncGenerator<ListedGroup, void, undefined> {
    for await (const group of this.#parts.reader.groupsOf(namespace, after)) {
      const [members, parents] = await Promise.all([
        this.#parts.reader.memberCount(group.id),
        this.#parts.reader.parentsOf(group.id),
      ])
      yield { ...group, num_member_entities: members, num_parent_groups: parents.length }
    }
  }

  groupsOf(namespace: string): AsyncGenerator<Group, void, undefined> {
    return this.#parts.reader.groupsOf(namespace)
  }

  /** Group aliases of a namespace, ordered by id. */
  aliasesIn(namespace: string, after: string): AsyncGenerator<GroupAlias, void, undefined> {
    return this.#parts.reader.aliasesIn(namespace, after)
  }

  async put(write: GroupWrite): Promise<Written> {
    const step = () => groupWrite(this.#parts, write)
    // most have no conflict, and share a commit with others
    const done = await this.#attempt(step)
    return done?.step?.result ?? this.#commit(step)
  }

  /** Deletes a group; no-op if there is none. */
  async remove(namespace: string, id: string): Promise<void> {
    const ended = await this.#commitIfAny(() => groupRemoval(this.#parts, namespace, id))
    if (ended?.rest === true) await dropMembers(this.#parts, id)
  }

  putAlias(write: AliasWrite): Promise<WrittenAlias> {
    return this.#commit(() => aliasWrite(this.#parts, write))
  }

  /** Deletes a group alias; no-op if there is none. */
  async removeAlias(namespace: string, id: string): Promise<void> {
    await this.#commitIfAny(() => aliasRemoval(this.#parts, namespace, id))
  }

  /** Computes the group changes of a login without writing them. docs/contract/identity.md#groups */
  refreshForLogin(login: GroupLogin): Promise<GroupRefresh> {
    return groupRefresh(this.#parts, login, (entityId) => this.#notify(membershipsChanged([entityId])))
  }

  /** Writes the group changes of a renewal. False if a record changed in the meantime. */
  async refresh(login: Omit<GroupLogin, 'entity'>): Promise<boolean> {
    const refresh = await this.refreshForLogin({ ...login, entity: 'unchanged' })
    if (refresh.entries.length === 0) return true
    try {
      return await this.#parts.view.write([...refresh.entries, ...refresh.counts()])
    } finally {
      refresh.written()
    }
  }

  /** Removes entities from all their groups, or replaces them by `to`. */
  async moveMembers(from: readonly string[], to?: string): Promise<MembershipChange> {
    const { reader } = this.#parts
    const kept = new Set(to === undefined ? [] : await reader.directOf(to))
    const entries: ViewEntry[] = []
    const changed = new Set<string>()
    for (const entity of from) {
      for (const group of await reader.directOf(entity)) {
        entries.push(...membershipRows(group, entity, undefined))
        if (to !== undefined && !kept.has(group)) entries.push(...membershipRows(group, to, true))
        kept.add(group)
        changed.add(group)
      }
    }
    await Promise.all([...changed].map((group) => reader.readCount(group)))
    entries.push(...[...changed].map((group) => reader.countChange(group)))
    const members = to === undefined ? from : [...from, to]
    return { entries, written: () => this.#notify(membershipsChanged(members)) }
  }

  /** Deletes all groups of a namespace. Idempotent. */
  async removeNamespace(namespace: string): Promise<void> {
    for await (const { id } of this.#parts.reader.groupsOf(namespace)) await this.remove(namespace, id)
  }

  async #commit<Result>(step: () => Promise<GroupStep<Result>>): Promise<Result> {
    const done = await this.#write(step)
    if (done === undefined) throw new Error('a required step was missing')
    return done.result
  }

  async #commitIfAny<Result>(
    step: () => Promise<GroupStep<Result> | undefined>,
  ): Promise<Result | undefined> {
    return (await this.#write(step))?.result
  }

  /** Computes a write and commits it, after those that began before. */
  #write<Result>(plan: () => Promise<GroupStep<Result> | undefined>): Promise<GroupStep<Result> | undefined> {
    return this.#changes.run('groups', async (_, overtaken) => {
      const done = await this.#attempt(plan)
      if (done !== undefined) return done.step
      // another server was quicker, or a deletion of an entity
      this.#dropCaches()
      throw overtaken
    })
  }

  /** Undefined if a record changed in the meantime. */
  async #attempt<Result>(
    plan: () => Promise<GroupStep<Result> | undefined>,
  ): Promise<{ readonly step: GroupStep<Result> | undefined } | undefined> {
    const step = await plan()
    if (step === undefined || step.entries.length === 0) return { step }
    const affected = nothingAffected()
    for await (const page of pagesOf(step.entries))
      addAffected(
        affected,
        page.map(({ key }) => key),
      )
    let written: boolean | undefined
    try {
      written = await this.#parts.view.write(step.entries)
    } finally {
      if (written === undefined) this.#dropCaches()
    }
    if (!written) return undefined
    step.written?.()
    this.#notify(affected)
    return { step }
  }

  /** Drops all caches: a failed write may have been committed. */
  #dropCaches(): void {
    this.#parts.reader.dropAll()
    this.#notify('all')
  }

  #notify(affected: GroupChange): void {
    if (affected !== 'all') this.#parts.reader.drop(affected)
    for (const listener of this.#listeners) listener(affected)
  }
}

const membershipsChanged = (entities: readonly string[]): GroupChange => ({
  groups: new Set(),
  entities: new Set(entities),
})
