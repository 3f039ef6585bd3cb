import { setTimeout as pause } from 'node:timers/promises'
import { refuse } from '../../errors.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import { inCore, type ViewEntry } from '../barrier/view.ts'
import type { BackgroundJob, Held, Jobs } from '../jobs/jobs.ts'
import type { MountStore, NewNamespace } from '../mounts/mount-store.ts'
import type { MountIndex } from '../mounts/mount-table.ts'
import type { Removal } from '../mounts/mount-type.ts'
import type { Namespace, NamespaceRecord } from './namespace.ts'
import { nameFault } from './namespace-name.ts'
import { type NamespaceStore, usedIdEntry } from './namespace-store.ts'

/**
 * The order in which a namespace is removed; within a phase, the order of registration. Every server ends its
 * waiting requests; one server does the rest.
 */
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
  readonly jobs: Pick<Jobs, 'job'>
  /** Undefined if no other server writes the storage. */
  readonly shared: SharedStorage | undefined
  /** The first records of a new namespace in addition to its mounts, with full keys. */
  firstEntries(namespaceId: string): readonly ViewEntry[]
  /** Called for a failed step, which will be retried. */
  onFailure(namespace: Namespace, step: string, error: unknown): void
  onRemoved(namespace: Namespace): void
}

type RunningRemoval = { readonly job: BackgroundJob; wake: AbortController }

const firstPauseMs = 1_000
const maxPauseMs = 60_000

/**
 * Creates and removes namespaces. docs/contract/namespaces.md#managing-namespaces,
 * docs/contract/namespaces.md#isolation
 */
export class NamespaceLife implements AsyncDisposable {
  readonly #parts: NamespaceLifeParts
  readonly #steps: RemovalStep[] = []
  readonly #removals = new Map<string, RunningRemoval>()
  #isStarted = false
  #stopped = false

  constructor(parts: NamespaceLifeParts) {
    this.#parts = parts
    parts.namespaces.onTainted((namespace) => this.#follow(namespace))
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
  async create(
    parent: Namespace,
    name: string,
    metadata: () => NamespaceRecord['custom_metadata'],
  ): Promise<NamespaceRecord> {
    const fault = nameFault(parent, name)
    if (fault !== undefined) throw refuse('invalid', fault)
    const path = `${parent.path}${name}/`
    const { namespaces, mounts } = this.#parts
    let created: NamespaceRecord | undefined
    await mounts.createNamespace((table) => {
      created = undefined
      if (namespaces.byPath(path) !== undefined) return undefined
      if (!namespaces.isLive(parent.id)) throw refuse('invalid', 'namespace not found')
      checkFree(table, parent, name)
      created = this.#fresh(path, metadata())
      return this.#newNamespace(created)
    })
    if (created !== undefined) return created
    const known = namespaces.byPath(path)
    if (known === undefined) throw refuse('invalid', 'namespace not found')
    return this.replaceMetadata(known, metadata())
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
    const { namespaces, mounts } = this.#parts
    const tainted = await mounts.whileUnchanged(async (write) => {
      if (namespaces.hasChildren(namespace))
        throw refuse('invalid', 'unable to delete namespace containing child namespaces')
      const { before, revision } = await namespaces.stored(namespace.id)
      const after = { ...before, tainted: true, ...(abandon ? { abandoned: true } : {}) }
      await write([inCore({ ...namespaces.entryOf(after), expect: revision })])
      namespaces.written(after)
      return after
    })
    this.#start(tainted)
  }

  /** Resumes interrupted deletions. From now on, also continues those of other servers. */
  resume(): void {
    this.#isStarted = true
    for (const namespace of this.#parts.namespaces.all()) if (namespace.tainted) this.#start(namespace)
  }

  /** Waits for the step in progress; the next start continues with the others. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    for (const { wake } of this.#removals.values()) wake.abort()
    await Promise.all([...this.#removals.values()].map(({ job }) => job[Symbol.asyncDispose]()))
  }

  #fresh(path: string, custom_metadata: NamespaceRecord['custom_metadata']): NamespaceRecord {
    const { namespaces, random } = this.#parts
    const uuid = random.uuid()
    return {
      id: namespaces.newId(),
      path,
      uuid,
      tainted: false,
      unlock_key_hash: '',
      custom_metadata,
      token_rows: true,
    }
  }

  #newNamespace(record: NamespaceRecord): NewNamespace {
    const { namespaces, firstEntries } = this.#parts
    const own = [namespaces.entryOf(record), usedIdEntry(record.id)]
    return {
      id: record.id,
      entries: [...own.map(inCore), ...firstEntries(record.id)],
      written: () => namespaces.written(record),
    }
  }

  /** Another server, or this one, has marked a namespace. */
  async #follow(namespace: NamespaceRecord): Promise<void> {
    if (!this.#isStarted || this.#stopped) return
    for (const { phase, remove } of this.#steps)
      if (phase === 'waiting requests') await remove(namespace.id, { abandon: false })
    await this.#parts.mounts.closeNamespaceHere(namespace.id)
    this.#start(namespace)
  }

  /** Begins the removal, here or on another server, or ends the pause before its next attempt. */
  #start({ id }: Namespace): void {
    const running = this.#removals.get(id)
    if (running !== undefined) {
      running.wake.abort()
      return
    }
    const removal = { wake: new AbortController(), job: this.#parts.jobs.job(`namespace/${id}`) }
    this.#removals.set(id, removal)
    removal.job.begin(async (held) => {
      // another server may have removed it
      await this.#parts.shared?.copies.confirm()
      if (await this.#removeAll(id, removal, held)) this.#removals.delete(id)
    })
  }

  /** False if another server continues. */
  async #removeAll(id: string, removal: RunningRemoval, { ended }: Held): Promise<boolean> {
    for (let wait = firstPauseMs; !this.#stopped && !ended.aborted; wait = Math.min(2 * wait, maxPauseMs)) {
      const namespace = this.#parts.namespaces.byId(id)
      if (namespace === undefined || (await this.#removeOnce(namespace, ended))) return true
      // another call, or the stop of the server, ends the pause
      const signal = AbortSignal.any([removal.wake.signal, ended])
      await pause(wait, undefined, { signal, ref: false }).catch(() => undefined)
      if (removal.wake.signal.aborted) removal.wake = new AbortController()
    }
    return this.#stopped
  }

  async #removeOnce(namespace: NamespaceRecord, ended: AbortSignal): Promise<boolean> {
    const { namespaces, onFailure, onRemoved } = this.#parts
    const steps = phases.flatMap((phase) => this.#steps.filter((step) => step.phase === phase))
    for (const { name, remove } of [
      ...steps,
      { name: 'record', remove: () => namespaces.forget(namespace) },
    ]) {
      if (this.#stopped || ended.aborted) return false
      try {
        await remove(namespace.id, { abandon: namespaces.byId(namespace.id)?.abandoned === true })
      } catch (error) {
        if (!this.#stopped && !ended.aborted) onFailure(namespace, name, error)
        return false
      }
    }
    onRemoved(namespace)
    return true
  }
}

function checkFree(table: MountIndex, parent: Namespace, name: string): void {
  const mount = table.conflictWith(parent.id, `${name}/`)
  if (mount !== undefined)
    throw refuse('invalid', `new namespace conflicts with existing mount: ${mount.path}`)
}
