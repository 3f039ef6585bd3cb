import { createHash, timingSafeEqual } from 'node:crypto'
import { refuse, type ServiceError } from '../../errors.ts'
import { base62, type Random } from '../../lib/system/random.ts'
import type { View, ViewEntry, ViewRecord } from '../barrier/view.ts'
import { Changes } from '../records/change.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import {
  type Namespace,
  type NamespaceRecord,
  namespaceRecords,
  pathBelow,
  readNamespace,
  rootNamespace,
  usedIds,
} from './namespace.ts'
import { lastSegment, NamespaceTree } from './namespace-tree.ts'

export type NamespaceStoreParts = {
  /** The core's view. */
  view: View
  random: Random
  /** Called for a record of another server that cannot be read. */
  onUnreadable(error: unknown): void
}

const unlockKeyLength = 24
const idLength = 6

/** The text that names a conflicting namespace in an error. */
const shownAs = (namespace: Namespace): string => `${lastSegment(namespace)}/`

/**
 * The tree of namespaces, as stored: a change is written before it becomes visible.
 * docs/contract/namespaces.md#managing-namespaces
 */
export class NamespaceStore extends NamespaceTree {
  readonly #view: View
  readonly #random: Random
  readonly #changes: Changes
  readonly #followed: FollowedRecords
  readonly #onTainted: ((record: NamespaceRecord) => Promise<void>)[] = []

  private constructor({ view, random, onUnreadable }: NamespaceStoreParts) {
    super()
    this.#view = view
    this.#random = random
    this.#changes = new Changes({ view, tooMany: 'too many changes to one namespace at a time' })
    this.#followed = new FollowedRecords({
      view,
      prefix: namespaceRecords,
      onFailure: onUnreadable,
      known: () => this.all().map(({ id }) => namespaceRecords + id),
      apply: (records, gone) => this.#follow(records, gone, onUnreadable),
    })
  }

  /** Rejects if a record is unreadable: the start must fail. */
  static async open(parts: NamespaceStoreParts): Promise<NamespaceStore> {
    const store = new NamespaceStore(parts)
    await store.#followed.follow(() => store.#load())
    return store
  }

  async #load(): Promise<void> {
    const records: NamespaceRecord[] = []
    for await (const page of this.#view.pages(namespaceRecords)) records.push(...page.map(readNamespace))
    for (const record of records.sort(topDown)) this.put(record)
  }

  /** Calls `listener` for each namespace that another server, or this one, has marked for deletion. */
  onTainted(listener: (record: NamespaceRecord) => Promise<void>): void {
    this.#onTainted.push(listener)
  }

  all(): NamespaceRecord[] {
    return this.descendantsOf(rootNamespace)
  }

  /** The ids of a namespace's ancestors. */
  ancestorIds(id: string): string[] {
    const namespace = this.byId(id)
    return namespace === undefined
      ? []
      : this.lineageOf(namespace).flatMap((one) => (one.id === id ? [] : [one.id]))
  }

  /** Whether the namespace exists and is not being deleted. */
  isLive(id: string): boolean {
    return id === rootNamespace.id || this.byId(id)?.tainted === false
  }

  isEnding(id: string): boolean {
    return this.byId(id)?.tainted === true
  }

  /**
   * The path from a namespace, given by id, down to another; undefined if it was deleted or the other is not
   * below it.
   */
  pathBelow(id: string, lower: Namespace): string | undefined {
    const upper = this.byId(id)
    return upper && pathBelow(upper, lower)
  }

  /**
   * A child namespace that conflicts with a secrets mount at `path` in this namespace, as shown in errors.
   * docs/contract/mounts.md#enabling
   */
  conflictWithMount(id: string, path: string): string | undefined {
    const namespace = this.byId(id)
    const first = path.slice(0, path.indexOf('/') + 1)
    const child = namespace && this.byPath(namespace.path + first)
    return child === undefined || child.id === rootNamespace.id ? undefined : shownAs(child)
  }

  /**
   * The error for requests in a namespace that is locked, or below a locked one.
   * docs/contract/namespaces.md#locked-namespaces
   */
  lockRefusal(namespace: Namespace): ServiceError | undefined {
    const locked = this.lineageOf(namespace).find(isLocked)
    if (locked === undefined) return undefined
    const text = `API access to this namespace has been locked by an administrator - "${locked.path}" must be unlocked to gain access.`
    return refuse('sealed', text)
  }

  /** A random id that no namespace has. */
  newId(): string {
    for (;;) {
      const id = base62(this.#random, idLength)
      if (this.byId(id) === undefined) return id
    }
  }

  /** The stored record. */
  entryOf(record: NamespaceRecord): ViewEntry {
    return { key: namespaceRecords + record.id, value: record }
  }

  /** Must be called after the entry of a new or changed namespace is written. */
  written(record: NamespaceRecord): void {
    this.#followed.changed()
    this.put(record)
  }

  /** A stored namespace. Throws `invalid` if it was deleted. */
  async stored(id: string): Promise<{ readonly before: NamespaceRecord; readonly revision: number }> {
    const stored = await this.#view.read(namespaceRecords + id)
    if (stored === undefined) throw refuse('invalid', 'namespace not found')
    return { before: readNamespace(stored), revision: stored.revision }
  }

  /** Changes a stored namespace. `change` may run again and may throw to refuse. Throws like `stored`. */
  change(id: string, change: (record: NamespaceRecord) => NamespaceRecord): Promise<NamespaceRecord> {
    return this.#changes.run(id, async (write) => {
      const { before, revision } = await this.stored(id)
      const after = change(before)
      await write([{ ...this.entryOf(after), expect: revision }])
      this.written(after)
      return after
    })
  }

  /**
   * Locks the API of a namespace and its descendants. Returns the unlock key, of which only a hash is stored.
   * docs/contract/namespaces.md#managing-namespaces
   */
  async lock(namespace: Namespace): Promise<string> {
    if (namespace.id === rootNamespace.id) throw refuse('invalid', 'root namespace cannot be locked/unlocked')
    const key = base62(this.#random, unlockKeyLength)
    await this.change(namespace.id, (record) => {
      if (isLocked(record))
        throw refuse('invalid', `cannot lock namespace "${record.path}": is already locked`)
      return { ...record, unlock_key_hash: hashOf(key) }
    })
    return key
  }

  /** `key` is undefined for a caller that needs none. */
  async unlock(namespace: Namespace, key: string | undefined): Promise<void> {
    if (namespace.id === rootNamespace.id) throw refuse('invalid', 'root namespace cannot be locked/unlocked')
    await this.change(namespace.id, (record) => {
      if (!isLocked(record)) throw refuse('invalid', `namespace "${record.path}" is not locked`)
      if (key !== undefined && !isKeyOf(record, key)) throw refuse('invalid', 'incorrect unlock key')
      return { ...record, unlock_key_hash: '' }
    })
  }

  /** Deletes the record of a namespace: the last step of its deletion. */
  async forget(record: NamespaceRecord): Promise<void> {
    await this.#view.write([{ key: namespaceRecords + record.id, value: undefined }])
    this.#followed.changed()
    this.remove(record)
  }

  async #follow(
    found: readonly ViewRecord[],
    gone: readonly string[],
    onUnreadable: (error: unknown) => void,
  ): Promise<void> {
    const removed = gone.flatMap((key) => this.byId(key.slice(namespaceRecords.length)) ?? [])
    for (const record of removed.sort(topDown).reverse()) this.remove(record)
    const records = found.flatMap((record) => {
      try {
        return [readNamespace(record)]
      } catch (error) {
        onUnreadable(error)
        return []
      }
    })
    for (const record of records.sort(topDown)) this.#put(record, onUnreadable)
    for (const record of records)
      if (record.tainted) for (const listener of this.#onTainted) await listener(record)
  }

  #put(record: NamespaceRecord, onUnreadable: (error: unknown) => void): void {
    try {
      this.put(record)
    } catch (error) {
      // its parent is unreadable
      onUnreadable(error)
    }
  }
}

/** A parent's path is shorter than those of its children. */
const topDown = (one: NamespaceRecord, other: NamespaceRecord): number => one.path.length - other.path.length

/** Reserves an id permanently; its write fails if a deleted namespace had the id. */
export const usedIdEntry = (id: string): ViewEntry => ({
  key: usedIds + id,
  value: true,
  expect: 'absent',
  isUncopied: true,
})

const isLocked = (record: NamespaceRecord): boolean => record.unlock_key_hash !== ''

/** A plain digest suffices, because the key is long and random. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')

function isKeyOf(record: NamespaceRecord, key: string): boolean {
  const known = Buffer.from(record.unlock_key_hash)
  const given = Buffer.from(hashOf(key))
  return known.length === given.length && timingSafeEqual(known, given)
}
