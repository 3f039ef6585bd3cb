import { z } from 'zod'
import { textMap } from '../../lib/data/text-map.ts'
import { eachOf } from './each.ts'
import { accessorMap } from './mounts.ts'
import { type Body, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { importOne, likeness, noteOf, reporting, type Scope } from './scope.ts'

const atOnce = 8

const aliasShape = z.object({
  name: z.string(),
  mount_accessor: z.string(),
  custom_metadata: textMap.nullish(),
})
const entityShape = z.object({
  id: z.string(),
  name: z.string(),
  metadata: textMap.nullish(),
  policies: z.array(z.string()).nullish(),
  disabled: z.boolean().default(false),
  aliases: z.array(aliasShape).nullish(),
})
const groupShape = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  metadata: textMap.nullish(),
  policies: z.array(z.string()).nullish(),
  member_entity_ids: z.array(z.string()).nullish(),
  member_group_ids: z.array(z.string()).nullish(),
  alias: aliasShape.partial().nullish(),
})
const idShape = z.object({ id: z.string() })

type Alias = z.infer<typeof aliasShape>
type Entity = z.infer<typeof entityShape>
type Group = z.infer<typeof groupShape>

/** Ids of the source, with what has their place on the target; undefined: nothing yet, in a dry run. */
type Places = Map<string, string | undefined>

/** Imports entities with their aliases, and groups. Their ids are the target's. */
export async function importIdentity(scope: Scope): Promise<void> {
  const accessors = await accessorMap(scope.from, scope.to)
  const failed = new Set<string>()
  const identity = new IdentityImport(scope, accessors, failed)
  await eachOf(await scope.from.list('identity/entity/id'), atOnce, async (id) => {
    await reporting(scope, 'entity', `identity/entity/id/${id}`, async () => {
      const { data } = entityShape.safeParse(await scope.from.read(`identity/entity/id/${id}`))
      // until it is there
      failed.add(id)
      if (data === undefined || (await identity.importEntity(data))) failed.delete(id)
    })
  })
  await identity.importGroups()
}

class IdentityImport {
  readonly #scope: Scope
  readonly #accessors: ReadonlyMap<string, string>
  readonly #entities: Places = new Map()
  readonly #groups: Places = new Map()
  /** Entities of the source whose import failed. */
  readonly #failed: ReadonlySet<string>
  readonly #theirs = new Map<string, Group>()
  /** Those that are not imported yet. */
  readonly #left = new Set<string>()

  constructor(scope: Scope, accessors: ReadonlyMap<string, string>, failed: ReadonlySet<string>) {
    this.#scope = scope
    this.#accessors = accessors
    this.#failed = failed
  }

  /** Resolves with whether the target has the entity now, or would have it. */
  async importEntity(entity: Entity): Promise<boolean> {
    const { to } = this.#scope
    const path = `identity/entity/name/${entity.name}`
    const aliases = entity.aliases ?? []
    // not by the path, which cannot have every name
    const sameName = await to.find('identity/lookup/entity', { name: entity.name })
    const same = entityShape.safeParse(sameName).data ?? (await this.#withAliasOf(aliases))
    const isSamePerson =
      same === undefined || (same.aliases ?? []).length === 0 || this.#shareAlias(entity, same)
    const { name, metadata, policies, disabled } = entity
    const fields = { metadata: metadata ?? {}, policies: policies ?? [], disabled }
    let id = same?.id
    const succeeded = await importOne(this.#scope, {
      kind: 'entity',
      path,
      exists: async () => (isSamePerson ? likeness(fields, same) : true),
      write: async () => {
        const { data, warnings } = await to.write('identity/entity', { name, ...fields })
        id = idShape.safeParse(data).data?.id
        return noteOf(warnings)
      },
      update: async () => noteOf((await to.write(`identity/entity/id/${id}`, fields)).warnings),
    })
    // without an entity, an alias would make one
    if (!succeeded) return false
    this.#entities.set(entity.id, id)
    for (const alias of aliases) await this.#importAlias(alias, id, isSamePerson)
    return true
  }

  async #withAliasOf(aliases: readonly Alias[]): Promise<Entity | undefined> {
    for (const alias of aliases) {
      const found = await this.#lookUp(alias)
      if (found !== undefined) return found
    }
    return undefined
  }

  async #lookUp({ name, mount_accessor: theirs }: Alias): Promise<Entity | undefined> {
    const accessor = this.#accessors.get(theirs)
    if (accessor === undefined) return undefined
    const request = { alias_name: name, alias_mount_accessor: accessor }
    return entityShape.safeParse(await this.#scope.to.find('identity/lookup/entity', request)).data
  }

  #shareAlias(entity: Entity, other: Entity): boolean {
    const keyOf = (accessor: string | undefined, name: string) => `${accessor} ${name.toLowerCase()}`
    const theirs = new Set(
      (entity.aliases ?? []).map((one) => keyOf(this.#accessors.get(one.mount_accessor), one.name)),
    )
    return (other.aliases ?? []).some((one) => theirs.has(keyOf(one.mount_accessor, one.name)))
  }

  async #importAlias(alias: Alias, id: string | undefined, isSamePerson: boolean): Promise<void> {
    const { report, namespace, to } = this.#scope
    const accessor = this.#accessors.get(alias.mount_accessor)
    const item = { kind: 'entity_alias', namespace, path: `${alias.mount_accessor} ${alias.name}` }
    if (accessor === undefined && !this.#scope.methods.has(alias.mount_accessor))
      return report.failed(item, 'the target has no such login method')
    const owner = await this.#lookUp(alias)
    if (owner === undefined && !isSamePerson)
      return report.failed(item, 'the target has an entity of this name with other aliases')
    if (owner !== undefined && id !== undefined && owner.id !== id)
      return report.failed(item, 'on the target it belongs to another entity')
    await importOne(this.#scope, {
      ...item,
      exists: async () => owner !== undefined,
      write: async () => {
        const { name, custom_metadata: metadata } = alias
        const body: Body = { name, mount_accessor: accessor, canonical_id: id }
        const sent =
          metadata === null || metadata === undefined ? body : { ...body, custom_metadata: metadata }
        return noteOf((await to.write('identity/entity-alias', sent)).warnings)
      },
    })
  }

  async importGroups(): Promise<void> {
    const { from } = this.#scope
    for (const id of await from.list('identity/group/id')) {
      const { data } = groupShape.safeParse(await from.read(`identity/group/id/${id}`))
      if (data === undefined) continue
      this.#theirs.set(id, data)
      this.#left.add(id)
    }
    for (const group of this.#theirs.values()) await this.#importGroup(group)
  }

  /** Members come first. */
  async #importGroup(group: Group): Promise<void> {
    if (!this.#left.delete(group.id)) return
    for (const id of group.member_group_ids ?? []) {
      const member = this.#theirs.get(id)
      if (member !== undefined) await this.#importGroup(member)
    }
    const { to } = this.#scope
    const path = `identity/group/name/${group.name}`
    await reporting(this.#scope, 'group', path, async () => {
      const ours = await groupOn(to, group.name)
      let id = ours?.id
      const put = async (at: string, before?: Group) => {
        const { body, missing, failed } = this.#requestOf(group, before)
        // without --update, it stays as it is once it exists
        if (failed) throw new RefusedRequest(0, 'some of its members are not imported yet')
        const { data, warnings } = await to.write(at, body)
        id ??= idShape.safeParse(data).data?.id
        return noteOf(missing === 0 ? warnings : [...warnings, `${missing} members are not on the target`])
      }
      const succeeded = await importOne(this.#scope, {
        kind: 'group',
        path,
        exists: async () => ours !== undefined && likeness(this.#requestOf(group, ours).body, ours),
        write: () => put('identity/group'),
        update: () => put(`identity/group/id/${id}`, ours),
      })
      if (!succeeded) return
      this.#groups.set(group.id, id)
      if (group.type === 'external') await this.#importGroupAlias(group, id)
    })
  }

  /** Logins decide who is in an external group. Members that the target has `before` stay. */
  #requestOf({ name, type, metadata, policies, ...members }: Group, before?: Group) {
    const body: Body = { name, type, ...(metadata ? { metadata } : {}), policies: policies ?? [] }
    if (type === 'external') return { body, missing: 0, failed: false }
    const placesOf = (ids: readonly string[], places: Places) =>
      ids.map((id) => places.get(id)).filter((id) => id !== undefined)
    const entities = members.member_entity_ids ?? []
    const groups = members.member_group_ids ?? []
    const [ourEntities, ourGroups] = [placesOf(entities, this.#entities), placesOf(groups, this.#groups)]
    return {
      body: {
        ...body,
        member_entity_ids: distinct(before?.member_entity_ids, ourEntities),
        member_group_ids: distinct(before?.member_group_ids, ourGroups),
      },
      missing: entities.length + groups.length - ourEntities.length - ourGroups.length,
      failed:
        entities.some((id) => this.#failed.has(id)) ||
        groups.some((id) => this.#theirs.has(id) && !this.#groups.has(id)),
    }
  }

  async #importGroupAlias(group: Group, id: string | undefined): Promise<void> {
    const { to, report, namespace, methods } = this.#scope
    const { name, mount_accessor: theirs } = group.alias ?? {}
    if (name === undefined || theirs === undefined) return
    const accessor = this.#accessors.get(theirs)
    const item = { kind: 'group_alias', namespace, path: `${theirs} ${name}` }
    if (accessor === undefined && !methods.has(theirs))
      return report.failed(item, 'the target has no such login method')
    await importOne(this.#scope, {
      ...item,
      exists: async () => {
        const ours = (await groupOn(to, group.name))?.alias
        if (ours?.name === undefined) return false
        return ours.name === name && ours.mount_accessor === accessor ? true : 'it differs'
      },
      write: async () => {
        const body = { name, mount_accessor: accessor, canonical_id: id }
        return noteOf((await to.write('identity/group-alias', body)).warnings)
      },
    })
  }
}

const groupOn = async (server: RemoteServer, name: string): Promise<Group | undefined> =>
  groupShape.safeParse(await server.find('identity/lookup/group', { name })).data

const distinct = (some: readonly string[] | null | undefined, more: readonly string[]): string[] => [
  ...new Set([...(some ?? []), ...more]),
]
