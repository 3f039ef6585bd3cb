import { z } from 'zod'
import { eachOf } from './each.ts'
import { accessorMap } from './mounts.ts'
import { type Body, RefusedRequest } from './remote-server.ts'
import { importOne, noteOf, reporting, type Scope } from './scope.ts'

const atOnce = 8

const aliasShape = z.object({
  name: z.string(),
  mount_accessor: z.string(),
  custom_metadata: z.record(z.string(), z.string()).nullish(),
})
const entityShape = z.object({
  id: z.string(),
  name: z.string(),
  metadata: z.record(z.string(), z.string()).nullish(),
  policies: z.array(z.string()).nullish(),
  disabled: z.boolean().default(false),
  aliases: z.array(aliasShape).nullish(),
})
const groupShape = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  metadata: z.record(z.string(), z.string()).nullish(),
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
  const entities: Places = new Map()
  await eachOf(await scope.from.list('identity/entity/id'), atOnce, async (id) => {
    await reporting(scope, 'entity', `identity/entity/id/${id}`, async () => {
      const { data } = entityShape.safeParse(await scope.from.read(`identity/entity/id/${id}`))
      if (data !== undefined) await new EntityImport(scope, accessors, entities).run(data)
    })
  })
  await new GroupImport(scope, accessors, entities).run()
}

class EntityImport {
  readonly #scope: Scope
  readonly #accessors: ReadonlyMap<string, string>
  readonly #places: Places

  constructor(scope: Scope, accessors: ReadonlyMap<string, string>, places: Places) {
    this.#scope = scope
    this.#accessors = accessors
    this.#places = places
  }

  async run(entity: Entity): Promise<void> {
    const { to } = this.#scope
    const path = `identity/entity/name/${entity.name}`
    const aliases = entity.aliases ?? []
    const sameName = entityShape.safeParse(await to.read(path)).data
    const same = sameName ?? (await this.#withAliasOf(aliases))
    let id = same?.id
    await importOne(this.#scope, {
      ...{ kind: 'entity', path },
      exists: async () => same !== undefined,
      write: async () => {
        const { name, metadata, policies, disabled } = entity
        const { data, warnings } = await to.write('identity/entity', {
          ...{ name, metadata: metadata ?? {}, policies: policies ?? [], disabled },
        })
        id = idShape.safeParse(data).data?.id
        return noteOf(warnings)
      },
    })
    this.#places.set(entity.id, id)
    const isSamePerson =
      same === undefined || (same.aliases ?? []).length === 0 || this.#shareAlias(entity, same)
    for (const alias of aliases) await this.#importAlias(alias, id, isSamePerson)
  }

  /** The entity of the target that one of these aliases belongs to. */
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
    const { data } = await this.#scope.to.write('identity/lookup/entity', request)
    return entityShape.safeParse(data).data
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
    if (accessor === undefined && !this.#scope.isDryRun)
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
}

class GroupImport {
  readonly #scope: Scope
  readonly #accessors: ReadonlyMap<string, string>
  readonly #entities: Places
  readonly #groups: Places = new Map()
  /** Groups of the source that are not imported yet. */
  readonly #left = new Map<string, Group>()

  constructor(scope: Scope, accessors: ReadonlyMap<string, string>, entities: Places) {
    this.#scope = scope
    this.#accessors = accessors
    this.#entities = entities
  }

  async run(): Promise<void> {
    const { from } = this.#scope
    for (const id of await from.list('identity/group/id')) {
      const { data } = groupShape.safeParse(await from.read(`identity/group/id/${id}`))
      if (data !== undefined) this.#left.set(id, data)
    }
    for (const group of [...this.#left.values()]) await this.#import(group)
  }

  /** Members come first. */
  async #import(group: Group): Promise<void> {
    if (!this.#left.delete(group.id)) return
    for (const id of group.member_group_ids ?? []) {
      const member = this.#left.get(id)
      if (member !== undefined) await this.#import(member)
    }
    const { to } = this.#scope
    const path = `identity/group/name/${group.name}`
    await reporting(this.#scope, 'group', path, async () => {
      let id = idShape.safeParse(await to.read(path)).data?.id
      await importOne(this.#scope, {
        ...{ kind: 'group', path },
        exists: async () => id !== undefined,
        write: async () => {
          const { body, missing } = this.#requestOf(group)
          const { data, warnings } = await to.write('identity/group', body)
          id = idShape.safeParse(data).data?.id
          return noteOf(missing === 0 ? warnings : [...warnings, `${missing} members are not on the target`])
        },
      })
      this.#groups.set(group.id, id)
      if (group.type === 'external') await this.#importAlias(group, path, id)
    })
  }

  /** Logins decide who is in an external group. */
  #requestOf({ name, type, metadata, policies, ...members }: Group): { body: Body; missing: number } {
    const body = { name, type, metadata: metadata ?? {}, policies: policies ?? [] }
    if (type === 'external') return { body, missing: 0 }
    const placesOf = (ids: readonly string[], places: Places) =>
      ids.map((id) => places.get(id)).filter((id) => id !== undefined)
    const entities = members.member_entity_ids ?? []
    const groups = members.member_group_ids ?? []
    const [ourEntities, ourGroups] = [placesOf(entities, this.#entities), placesOf(groups, this.#groups)]
    return {
      body: { ...body, member_entity_ids: ourEntities, member_group_ids: ourGroups },
      missing: entities.length + groups.length - ourEntities.length - ourGroups.length,
    }
  }

  async #importAlias(group: Group, path: string, id: string | undefined): Promise<void> {
    const { to, report, namespace, isDryRun } = this.#scope
    const { name, mount_accessor: theirs } = group.alias ?? {}
    if (name === undefined || theirs === undefined) return
    const accessor = this.#accessors.get(theirs)
    const item = { kind: 'group_alias', namespace, path: `${theirs} ${name}` }
    if (accessor === undefined && !isDryRun) return report.failed(item, 'the target has no such login method')
    await importOne(this.#scope, {
      ...item,
      exists: async () => {
        const { data } = groupShape.safeParse(await to.read(path))
        return data?.alias?.name !== undefined
      },
      write: async () => {
        if (id === undefined) throw new RefusedRequest(404, 'the group is gone')
        const body = { name, mount_accessor: accessor, canonical_id: id }
        return noteOf((await to.write('identity/group-alias', body)).warnings)
      },
    })
  }
}
