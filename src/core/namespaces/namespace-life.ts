import { setTimeout as pause } from 'node:timers/promises'
import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/go/text.ts'
import type { Random } from '../../lib/random.ts'
import { inCore, type ViewEntry } from '../barrier/view.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import type { MountStore } from '../mounts/mount-store.ts'
import type { MountIndex } from '../mounts/mount-table.ts'
import type { Removal } from '../mounts/mount-type.ts'
import { writeAttempts } from '../stored-record.ts'
import type { Namespace, NamespaceRecord } from './namespace.ts'
import { nameFault } from './namespace-name.ts'
import type { NamespaceStore } from './namespace-store.ts'

/** The order in which a namespace is removed; within a phase, the order of registration. */
const phases = ['waiting requests', 'requests', 'leases', 'tokens', 'data', 'mounts'] as const

/**
 * Removes one kind of data of a namespace. `remove` must be idempotent: it is repeated after a failure or a
 * restart.
 */
export type RemovalStep = {
  readonly name: string
  readonly phase: (typeof phases)[number]
  remove(namespaceId: string, how: Removal): Promise<void> | void
}

export type NamespaceLifeParts = {
  readonly namespaces: NamespaceStore
  readonly mounts: MountStore
  readonly random: Random
  /** The first records of a new namespace in addition to its mounts, with full keys. */
  firstEntries(namespaceId: string): readonly ViewEntry[]
  /** Called for a failed step, which will be retried. */
  onFailure(namespace: Namespace, step: string, error: unknown): void
  onRemoved(namespace: Namespace): void
}

const firstPauseMs = 1_000
const maxPauseMs = 60_000

/**
 * Creates and removes namespaces. docs/contract/namespaces.md#managing-namespaces,
 * docs/contract/namespaces.md#isolation
 */
export class NamespaceLife implements AsyncDisposable {
  readonly #parts: NamespaceLifeParts
  readonly #steps: RemovalStep[] = []
  readonly #mutex = new KeyedMutex()
  readonly #removals = new Map<string, { readonly done: Promise<void>; wake: AbortController }>()
  #stopped = false

  constructor(parts: NamespaceLifeParts) {
    this.#parts = parts
  }

  /** Adds a step to the removal of namespaces. */
  addRemovalStep(step: RemovalStep): void {
    this.#steps.push(step)
  }

  /**
   * Creates a namespace below another, with its fixed mounts and the policy `default`, in one write. Calls
   * `metadata`, which may throw, after all other checks. Throws the errors of
   * docs/contract/namespaces.md#managing-namespaces
   */
  create(
    parent: Namespace,
    name: string,
    metadata: () => NamespaceRecord['custom_metadata'],
  ): Promise<NamespaceRecord> {
    return this.#runExclusive(async () => {
      const fault = nameFault(parent, name)
      if (fault !== undefined) throw refuse('invalid', fault)
      const path = `${parent.path}${name}/`
      const { namespaces } = this.#parts
      const known = namespaces.byPath(path)
      if (known !== undefined) return this.replaceMetadata(known, metadata())
      if (!namespaces.isLive(parent.id)) throw refuse('invalid', 'namespace not found')
      for (let attempt = 0; attempt < writeAttempts; attempt += 1) {
        const made = await this.#createWithNewId(parent, { path, name, metadata })
        if (made !== undefined) return made
      }
      throw new Error('no namespace id is free')
    })
  }

  /** Replaces the metadata of a namespace. Throws if it is being deleted. */
  replaceMetadata(
    { id }: Namespace,
    custom_metadata: NamespaceRecord['custom_metadata'],
  ): Promise<NamespaceRecord> {
    return this.#parts.namespaces.change(id, (record) => {
      if (record.tainted) throw refuse('invalid', `namespace ${quoted(record.path)} is being deleted`)
      return { ...record, custom_metadata }
    })
  }

  /**
   * Marks a namespace as tainted, which invalidates its tokens, and removes its data in the background.
   * Throws if it has children. If it is already tainted, retries the removal at once. `abandon`: give up on
   * external objects that cannot be revoked.
   */
  async remove(namespace: NamespaceRecord, { abandon = false } = {}): Promise<void> {
    const tainted = await this.#runExclusive(async () => {
      const { namespaces } = this.#parts
      if (namespaces.hasChildren(namespace))
        throw refuse('invalid', 'unable to delete namespace containing child namespaces')
      return namespaces.change(namespace.id, (record) => ({
        ...record,
        tainted: true,
        ...(abandon ? { abandoned: true } : {}),
      }))
    })
    this.#start(tainted)
  }

  /** Resumes deletions that a stop of the server interrupted. */
  resume(): void {
    for (const namespace of this.#parts.namespaces.all()) if (namespace.tainted) this.#start(namespace)
  }

  /** Waits for the step in progress; the next start continues with the others. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    for (const { wake } of this.#removals.values()) wake.abort()
    await Promise.all([...this.#removals.values()].map(({ done }) => done))
  }

  #runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive('tree', work)
  }

  /** Undefined if the random id has been used before. */
  async #createWithNewId(
    parent: Namespace,
    { path, name, metadata }: { path: string; name: string; metadata(): NamespaceRecord['custom_metadata'] },
  ) {
    const { namespaces, mounts, random, firstEntries } = this.#parts
    const { id, entry } = namespaces.newId()
    const draft = { id, path, uuid: random.uuid(), tainted: false, unlock_key_hash: '' }
    let record: NamespaceRecord | undefined
    const plan = (table: MountIndex): ViewEntry[] => {
      const mount = table.conflictWith(parent.id, `${name}/`)
      if (mount !== undefined)
        throw refuse('invalid', `new namespace conflicts with existing mount: ${mount.path}`)
      record = { ...draft, custom_metadata: metadata() }
      return [...[namespaces.entryOf(record), entry].map(inCore), ...firstEntries(id)]
    }
    const written = () => {
      if (record !== undefined) namespaces.written(record)
    }
    return (await mounts.createNamespace(id, { plan, written })) ? record : undefined
  }

  #start(namespace: NamespaceRecord): void {
    const running = this.#removals.get(namespace.id)
    if (running !== undefined) {
      running.wake.abort()
      return
    }
    const removal = { wake: new AbortController(), done: Promise.resolve() }
    this.#removals.set(namespace.id, removal)
    removal.done = this.#removeAll(namespace, removal).finally(() => this.#removals.delete(namespace.id))
  }

  async #removeAll(namespace: NamespaceRecord, removal: { wake: AbortController }): Promise<void> {
    for (let wait = firstPauseMs; !this.#stopped; wait = Math.min(2 * wait, maxPauseMs)) {
      if (await this.#removeOnce(namespace)) return
      // another call, or the stop of the server, ends the pause
      await pause(wait, undefined, { signal: removal.wake.signal, ref: false }).catch(() => undefined)
      if (removal.wake.signal.aborted) removal.wake = new AbortController()
    }
  }

  async #removeOnce(namespace: NamespaceRecord): Promise<boolean> {
    const { namespaces, onFailure, onRemoved } = this.#parts
    const steps = phases.flatMap((phase) => this.#steps.filter((step) => step.phase === phase))
    for (const { name, remove } of [
      ...steps,
      { name: 'record', remove: () => namespaces.forget(namespace) },
    ]) {
      if (this.#stopped) return false
      try {
        await remove(namespace.id, { abandon: namespaces.byId(namespace.id)?.abandoned === true })
      } catch (error) {
        if (!this.#stopped) onFailure(namespace, name, error)
        return false
      }
    }
    onRemoved(namespace)
    return true
  }
}
