import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { View, ViewEntry } from '../../core/barrier/view.ts'
import { foldedName } from '../../core/identity/same-name.ts'
import type { CacheUses } from '../../core/records/cache-use.ts'
import { Changes, type Decide } from '../../core/records/change.ts'
import type { KeyedHash } from '../../core/records/keyed-hash.ts'
import { refuse } from '../../errors.ts'
import { Cache, textIn } from '../../lib/data/cache.ts'
import { type Role, type RoleRecord, readRole } from './role.ts'
import { voidKey } from './secret-id-store.ts'

export type RoleStoreParts = {
  /** The mount's own. */
  readonly view: View
  readonly hashOfRoleId: () => Promise<KeyedHash>
  readonly caches?: CacheUses
}

const rolePrefix = 'role/'
const roleKey = (name: string): string => rolePrefix + keyPart(name)

const mostInKey = 2_400
/** No name has it. */
const mark = '~'

/** Any name fits into a key: of a long one, the key has the beginning and a digest. docs/storage.md#what-storage-promises */
const keyPart = (name: string): string =>
  name.length <= mostInKey
    ? name
    : name.slice(0, mostInKey) + mark + createHash('sha256').update(name).digest('base64url')

/** What a key does not tell. */
const longName = z.object({ name: z.string() })

/** Which role a role id names. */
const roleIdRow = z.object({ name: z.string(), uuid: z.string(), role_id: z.string() })

/**
 * The roles of one mount, and the rows that find them by role id: under a keyed hash of the id's folded form,
 * because ids that differ only in case would be one entity. Names are in lower case. Parsed copies are kept
 * in memory and follow the writes of other servers; rows of role ids are read anew by each login.
 */
export class RoleStore implements Disposable {
  readonly #parts: RoleStoreParts
  /** By name. */
  readonly #changes: Changes
  readonly #unwatch: () => void
  readonly #roles = new Cache<Role>({
    name: 'approle roles',
    most: 10_000,
    mostWeight: 16 * 1024 * 1024,
    weigh: ({ record }, key) => textIn(record, key),
  })

  constructor(parts: RoleStoreParts) {
    this.#parts = parts
    this.#changes = new Changes({ view: parts.view, tooMany: 'too many changes to one role at a time' })
    if (parts.caches !== undefined) this.#roles.countIn(parts.caches.of('login_roles'))
    this.#unwatch = parts.view.watch(rolePrefix, (keys) =>
      this.#roles.follow(keys, (key) => key.slice(rolePrefix.length)),
    )
  }

  [Symbol.dispose](): void {
    this.#unwatch()
  }

  /** The key of the record, from the root of the storage. */
  recordKey(name: string): string {
    return this.#parts.view.fromRoot({ key: roleKey(name), value: undefined }).key
  }

  find(name: string): Promise<Role | undefined> {
    return this.#roles.read(keyPart(name), async () => {
      const stored = await this.#parts.view.get(roleKey(name))
      return stored === undefined ? undefined : readRole(name, stored)
    })
  }

  /** The role that has exactly this role id. An unknown one costs one read. */
  async findByRoleId(roleId: string): Promise<Role | undefined> {
    const row = await this.#row(roleId)
    if (row === undefined || row.role_id !== roleId) return undefined
    const known = await this.find(row.name)
    if (known?.record.uuid === row.uuid) return known
    // the copy is of an earlier role of that name
    this.#roles.drop(keyPart(row.name))
    const role = await this.find(row.name)
    return role?.record.uuid === row.uuid ? role : undefined
  }

  /** Sorted. */
  async names(): Promise<string[]> {
    const keys = await this.#parts.view.listKeys(rolePrefix)
    const short = keys.filter((key) => !key.includes(mark)).map((key) => key.slice(rolePrefix.length))
    const long = keys.filter((key) => key.includes(mark)).map((key) => this.#longNameAt(key))
    return [...short, ...(await Promise.all(long)).flat()].sort()
  }

  /** Empty if the role is gone. */
  async #longNameAt(key: string): Promise<string[]> {
    const stored = await this.#parts.view.get(key)
    return stored === undefined ? [] : [longName.parse(stored).name]
  }

  /**
   * `change` returns the new record for the stored one; it may be called again, and if it throws or returns nothing,
   * nothing is written. Throws `invalid` if another role has the new role id.
   */
  change<After extends RoleRecord | undefined>(
    name: string,
    change: (before: RoleRecord | undefined) => After,
  ): Promise<After> {
    return this.#change(name, async (write, overtaken) => {
      const stored = await this.#parts.view.read(roleKey(name))
      const before = stored && readRole(name, stored.value).record
      const after = change(before)
      if (after === undefined) return after
      const entries: ViewEntry[] = [
        {
          key: roleKey(name),
          value: { ...laterFields(stored?.value), ...after, ...(name.length > mostInKey && { name }) },
          expect: stored?.revision ?? 'absent',
        },
        ...(await this.#moveOfRoleId(name, before, after)),
      ]
      try {
        await write(entries)
      } catch (error) {
        const row = error === overtaken ? await this.#row(after.role_id) : undefined
        if (row !== undefined && row.uuid !== after.uuid) throw refuse('invalid', 'role_id already in use')
        throw error
      }
      return after
    })
  }

  /** Ends the role and all its secret ids in one write. What is left of them is deleted later. */
  async delete(name: string): Promise<void> {
    await this.#change(name, async (write) => {
      const stored = await this.#parts.view.read(roleKey(name))
      if (stored === undefined) return
      const { role_id, uuid } = readRole(name, stored.value).record
      await write([
        { key: roleKey(name), value: undefined, expect: stored.revision },
        { key: await this.#rowKey(role_id), value: undefined, isUncopied: true },
        { key: voidKey(uuid), value: {}, isUncopied: true },
      ])
    })
  }

  async #change<T>(name: string, decide: Decide<T>): Promise<T> {
    try {
      return await this.#changes.run(name, decide)
    } finally {
      this.#roles.drop(keyPart(name))
    }
  }

  async #moveOfRoleId(name: string, before: RoleRecord | undefined, after: RoleRecord): Promise<ViewEntry[]> {
    if (before?.role_id === after.role_id) return []
    const { role_id, uuid } = after
    const key = await this.#rowKey(role_id)
    const oldKey = before && (await this.#rowKey(before.role_id))
    const row = { key, value: { name, uuid, role_id }, isUncopied: true } as const
    // its own, in another spelling
    if (oldKey === key) return [row]
    const old: ViewEntry[] = oldKey === undefined ? [] : [{ key: oldKey, value: undefined, isUncopied: true }]
    return [{ ...row, expect: 'absent' }, ...old]
  }

  async #row(roleId: string): Promise<z.output<typeof roleIdRow> | undefined> {
    const stored = await this.#parts.view.get(await this.#rowKey(roleId))
    return stored === undefined ? undefined : roleIdRow.parse(stored)
  }

  async #rowKey(roleId: string): Promise<string> {
    const hash = await this.#parts.hashOfRoleId()
    return `role-id/${hash(foldedName(roleId), 'base64url')}`
  }
}

/** Fields of a later version are kept. */
const laterFields = (stored: unknown): object => (typeof stored === 'object' && stored !== null ? stored : {})
