import { createHash, timingSafeEqual } from 'node:crypto'
import { fail, refuse, type ServiceError } from '../../errors.ts'
import { base62, type Random } from '../../lib/random.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import { writeAttempts } from '../stored-record.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { type Namespace, type NamespaceRecord, pathBelow, rootNamespace } from './namespace.ts'
import { namespaceRecords, readNamespace, usedIds } from './namespace-record.ts'
import { lastSegment, type NamespacePlace, NamespaceTree } from './namespace-tree.ts'

export type NamespaceStoreParts = {
  /** The core's view. */
  view: View
  random: Random
}

const unlockKeyLength = 24
const idLength = 6
const pageSize = 500

/** What a mount at, above or below the path of a namespace finds in its way, as it is shown. */
const shownAs = (namespace: Namespace): string => `${lastSegment(namespace)}/`

/**
 * All namespaces of the server, in storage and as a tree in memory. Each change is written first and seen
 * then. docs/contract/namespaces.md#managing-namespaces
 */
export class NamespaceStore {
  readonly #view: View
  readonly #random: Random
  readonly #tree = new NamespaceTree()
  readonly #turns = new KeyedMutex()

  private constructor({ view, random }: NamespaceStoreParts) {
    this.#view = view
    this.#random = random
  }

  /** Rejects when a record cannot be read: the server must not start then. */
  static async open(parts: NamespaceStoreParts): Promise<NamespaceStore> {
    const store = new NamespaceStore(parts)
    const records: NamespaceRecord[] = []
    for (let after: string | undefined; ; ) {
      const page = await parts.view.list(namespaceRecords, {
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      })
      records.push(...page.map(readNamespace))
      if (page.length < pageSize) break
      after = page.at(-1)?.key
    }
    // a parent's path is shorter than those of its children
    for (const record of records.sort((a, b) => a.path.length - b.path.length)) store.#tree.put(record)
    return store
  }

  /** No namespace but the root exists. */
  get isRootOnly(): boolean {
    return this.#tree.isRootOnly
  }

  /**
   * The namespace of a request, from its header and its path; undefined when the header names none.
   * docs/contract/namespaces.md#the-namespace-of-a-request
   */
  resolve(header: string | undefined, path: string): NamespacePlace | undefined {
    return this.#tree.resolve(header, path)
  }

  byId(id: string): NamespaceRecord | undefined {
    return this.#tree.byId(id)
  }

  /** `path` is a full one, with trailing slash. */
  byPath(path: string): NamespaceRecord | undefined {
    return this.#tree.byPath(path)
  }

  all(): NamespaceRecord[] {
    return this.#tree.descendantsOf(rootNamespace)
  }

  /** Direct children, ordered by path. */
  childrenOf(namespace: Namespace): NamespaceRecord[] {
    return this.#tree.childrenOf(namespace)
  }

  /** All below, ordered by path. */
  descendantsOf(namespace: Namespace): NamespaceRecord[] {
    return this.#tree.descendantsOf(namespace)
  }

  /** The namespace and all above it, the root first. */
  lineOf(namespace: Namespace): NamespaceRecord[] {
    return this.#tree.lineOf(namespace)
  }

  /** The ids of the namespaces above the one of this id. */
  above(id: string): string[] {
    const namespace = this.byId(id)
    return namespace === undefined
      ? []
      : this.lineOf(namespace).flatMap((one) => (one.id === id ? [] : [one.id]))
  }

  hasChildren(namespace: Namespace): boolean {
    return this.#tree.hasChildren(namespace)
  }

  /** Does what belongs to the namespace of this id still count? */
  isLive(id: string): boolean {
    return id === rootNamespace.id || this.byId(id)?.tainted === false
  }

  /**
   * The path from the namespace of this id down to another; undefined when that is neither it nor below it,
   * or it is gone.
   */
  pathBelow(id: string, lower: Namespace): string | undefined {
    const upper = this.byId(id)
    return upper && pathBelow(upper, lower)
  }

  /**
   * What of the namespaces is in the way of a secrets mount at `path`, below the namespace of this id.
   * docs/contract/mounts.md#enabling
   */
  inTheWay(id: string, path: string): string | undefined {
    const namespace = this.byId(id)
    const first = path.slice(0, path.indexOf('/') + 1)
    const child = namespace && this.byPath(namespace.path + first)
    return child === undefined || child.id === rootNamespace.id ? undefined : shownAs(child)
  }

  /**
   * Why nothing is served in the namespace now: it or one above it is locked.
   * docs/contract/namespaces.md#locked-namespaces
   */
  lockRefusal(namespace: Namespace): ServiceError | undefined {
    const locked = this.#tree.lineOf(namespace).find(isLocked)
    if (locked === undefined) return undefined
    const text = `API access to this namespace has been locked by an administrator - "${locked.path}" must be unlocked to gain access.`
    return refuse('sealed', text)
  }

  /**
   * An id that no namespace has or had, as far as is known here, and the entries that keep it from ever being
   * given again.
   */
  freshId(): { id: string; entry: ViewEntry } {
    for (;;) {
      const id = base62(this.#random, idLength)
      if (this.byId(id) === undefined)
        return { id, entry: { key: usedIds + id, value: true, expect: 'absent' } }
    }
  }

  /** The record as it is stored. */
  entryOf(record: NamespaceRecord): ViewEntry {
    return { key: namespaceRecords + record.id, value: record }
  }

  /** To be called once the entry of a new or changed namespace is written. */
  written(record: NamespaceRecord): void {
    this.#tree.put(record)
  }

  /**
   * Changes what is stored of a namespace; `change` may run again, and throws to refuse. Throws `missing`
   * when it is gone by then.
   */
  change(id: string, change: (record: NamespaceRecord) => NamespaceRecord): Promise<NamespaceRecord> {
    return this.#turns.take(id, async () => {
      for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
        const before = await this.#view.read(namespaceRecords + id)
        if (before === undefined) throw refuse('invalid', 'namespace not found')
        const after = change(readNamespace(before))
        if (await this.#view.write([{ ...this.entryOf(after), expect: before.revision }])) {
          this.written(after)
          return after
        }
      }
      throw fail('unavailable', 'too many changes to one namespace at a time')
    })
  }

  /**
   * Locks the API of a namespace and all below; gives the key that unlocks it, of which only a hash is kept.
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

  /** `key` undefined: the caller may do without. */
  async unlock(namespace: Namespace, key: string | undefined): Promise<void> {
    if (namespace.id === rootNamespace.id) throw refuse('invalid', 'root namespace cannot be locked/unlocked')
    await this.change(namespace.id, (record) => {
      if (!isLocked(record)) throw refuse('invalid', `namespace "${record.path}" is not locked`)
      if (key !== undefined && !isKeyOf(record, key)) throw refuse('invalid', 'incorrect unlock key')
      return { ...record, unlock_key_hash: '' }
    })
  }

  /** The last step of a deletion: everything of the namespace is gone but its record. */
  async forget(record: NamespaceRecord): Promise<void> {
    await this.#view.write([{ key: namespaceRecords + record.id, value: undefined }])
    this.#tree.remove(record)
  }
}

const isLocked = (record: NamespaceRecord): boolean => record.unlock_key_hash !== ''

/** The key is random and long: a plain digest tells nothing about it. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')

function isKeyOf(record: NamespaceRecord, key: string): boolean {
  const known = Buffer.from(record.unlock_key_hash)
  const given = Buffer.from(hashOf(key))
  return known.length === given.length && timingSafeEqual(known, given)
}
