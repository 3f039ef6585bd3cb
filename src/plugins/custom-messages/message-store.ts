import type { Range, View } from '../../core/barrier/view.ts'
import { Changes } from '../../core/records/change.ts'
import { ServiceError } from '../../errors.ts'
import { Cache } from '../../lib/data/cache.ts'
import type { Random } from '../../lib/system/random.ts'
import { type Acknowledgement, Acknowledgements } from './acknowledgements.ts'
import type { Message, MessageDraft } from './message.ts'
import { messageRecord, readMessage } from './message-record.ts'
import { NamespaceMessages } from './namespace-messages.ts'

export type { Acknowledgement }

export type MessageStoreParts = { readonly view: View; readonly random: Random }

/** The messages of a namespace; `change` is the id of the change after which they were copied, if it is known. */
type Copy = { readonly messages: NamespaceMessages; readonly change?: string }

const bytesPerNamespace = 512

/** Called after messages have changed. Undefined: those of any namespace may have. */
type ChangeListener = (namespaceId: string | undefined) => void

/**
 * Stores one record for each message and caches recently used namespaces. A write resolves once it is
 * durable; every method rejects if storage fails. docs/contract/messages.md#room
 *
 * Each change of a namespace's messages also replaces the record of its last change, and a write expects that
 * record as it was when the messages were read: of two servers that change them at the same time, one reads
 * them again. docs/replicas.md#messages
 */
export class MessageStore {
  readonly #view: View
  /** The id of the last change of each namespace. Read from storage whenever it is needed. */
  readonly #lastChanges: View
  readonly #random: Random
  readonly #acknowledgements: Acknowledgements
  /** The limits are for all namespaces together. */
  readonly #copies = new Cache<Copy>({
    name: 'messages',
    most: 100_000,
    mostWeight: 64 * 1024 * 1024,
    weigh: ({ messages }) => bytesPerNamespace + messages.size,
  })
  /** By namespace. */
  readonly #changes: Changes
  readonly #versions = new Map<string, number>()
  readonly #listeners = new Set<ChangeListener>()
  #lastVersion = 0
  /** The version of every namespace that has no entry in `#versions`. */
  #defaultVersion = 0

  constructor({ view, random }: MessageStoreParts) {
    this.#view = view.view('message/', { numbers: 'literal' })
    this.#lastChanges = view.view('message-change/', { numbers: 'plain', isUncopied: true })
    this.#random = random
    this.#changes = new Changes({
      view: this.#view,
      tooMany: 'the messages of this namespace are changed by too many at once',
    })
    this.#acknowledgements = new Acknowledgements(view)
    this.#view.watch('', (keys) => this.#reported(keys))
  }

  /** What the keys of a namespace's records begin with, from the root of the storage. */
  recordsOf(namespaceId: string): string {
    return this.#view.fromRoot({ key: keyOf(namespaceId, ''), value: undefined }).key
  }

  /** All messages of one namespace, later starts first. */
  async listOf(namespaceId: string): Promise<readonly Message[]> {
    return (await this.#messagesOf(namespaceId)).sorted
  }

  async find(namespaceId: string, id: string): Promise<Message | undefined> {
    return (await this.#messagesOf(namespaceId)).get(id)
  }

  /** Throws if the namespace is full. */
  async create(namespaceId: string, draft: MessageDraft): Promise<Message> {
    const message = { ...draft, id: this.#random.uuid() }
    await this.#put(namespaceId, () => message)
    return message
  }

  /** `change` returns the new message; an error it throws aborts the update. Undefined if no such message. */
  update(
    namespaceId: string,
    id: string,
    change: (old: Message) => MessageDraft,
  ): Promise<Message | undefined> {
    return this.#put(namespaceId, (messages) => {
      const old = messages.get(id)
      return old && { ...change(old), id }
    })
  }

  /** Writes a message with an id that it had before, perhaps in place of another form. Throws if the namespace is full. */
  restore(
    namespaceId: string,
    id: string,
    change: (old: Message | undefined) => MessageDraft,
  ): Promise<Message> {
    return this.#put(namespaceId, (messages) => ({ ...change(messages.get(id)), id }))
  }

  /**
   * Deletes a message and its acknowledgements. Works even if the namespace's messages cannot be read, so
   * that a damaged record can be removed. `check` throws to keep the message; a damaged one is not checked.
   */
  async delete(namespaceId: string, id: string, check: (old: Message) => void = () => {}): Promise<void> {
    await this.#changes.run(namespaceId, async (write) => {
      if (!(await this.#isStored(namespaceId, id))) return
      const old = await this.#readOne(namespaceId, id)
      if (old !== undefined) check(old)
      await write([
        { key: keyOf(namespaceId, id), value: undefined },
        this.#lastChanges.fromRoot({ key: namespaceId, value: this.#random.uuid() }),
      ])
      this.#copies.drop(namespaceId)
      this.#changed(namespaceId)
    })
    await this.#acknowledgements.removeOf(namespaceId, id)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    await this.#view.deletePrefix(`${namespaceId}/`)
    await this.#lastChanges.write([{ key: namespaceId, value: undefined }])
    await this.#acknowledgements.removeNamespace(namespaceId)
    this.#copies.drop(namespaceId)
    this.#versions.delete(namespaceId)
    // namespace ids are never reused; a later read of this version must still see a new one
    this.#defaultVersion = ++this.#lastVersion
    this.#notify(namespaceId)
  }

  /** Only the first acknowledgement of an entity is stored. False if no such message. */
  async acknowledge(namespaceId: string, id: string, acknowledgement: Acknowledgement): Promise<boolean> {
    if ((await this.find(namespaceId, id)) === undefined) return false
    await this.#acknowledgements.add(namespaceId, id, acknowledgement)
    // a deletion before this check may have missed it; a later one removes it
    if (await this.#isStored(namespaceId, id)) return true
    await this.#acknowledgements.remove(namespaceId, id, acknowledgement.entityId)
    return false
  }

  /** Sorted by entity id, as is `range.after`. Undefined if no such message. */
  async acknowledgements(
    namespaceId: string,
    id: string,
    range?: Range,
  ): Promise<Acknowledgement[] | undefined> {
    if ((await this.find(namespaceId, id)) === undefined) return undefined
    return this.#acknowledgements.list(namespaceId, id, range)
  }

  /** Grows with each change of the namespace's messages, but not with acknowledgements. Local to this process. */
  version(namespaceId: string): number {
    return this.#versions.get(namespaceId) ?? this.#defaultVersion
  }

  /** Calls `listener` after each change. Returns a function that removes the listener. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Writes the message that `next` returns; undefined writes nothing. */
  #put<Next extends Message | undefined>(
    namespaceId: string,
    next: (messages: NamespaceMessages) => Next,
  ): Promise<Next> {
    return this.#changes.run(namespaceId, async (write) => {
      const last = await this.#lastChanges.read(namespaceId)
      const before = await this.#messagesAfter(last?.value, namespaceId)
      const message = next(before)
      if (message === undefined) return message
      const after = { messages: before.with(message), change: this.#random.uuid() }
      const version = this.version(namespaceId)
      await write([
        { key: keyOf(namespaceId, message.id), value: messageRecord(message) },
        this.#lastChanges.fromRoot({
          key: namespaceId,
          value: after.change,
          expect: last?.revision ?? 'absent',
        }),
      ])
      const isLatest = version === this.version(namespaceId)
      // also a load that began before
      this.#copies.drop(namespaceId)
      if (isLatest) this.#copies.set(namespaceId, after)
      this.#changed(namespaceId)
      return message
    })
  }

  /** The messages after the last change, from the cache if they were copied then. */
  async #messagesAfter(change: unknown, namespaceId: string): Promise<NamespaceMessages> {
    const copy = this.#copies.get(namespaceId)
    return copy !== undefined && copy.change !== undefined && copy.change === change
      ? copy.messages
      : this.#load(namespaceId)
  }

  /** Undefined for a damaged record, which has no effect. */
  async #readOne(namespaceId: string, id: string): Promise<Message | undefined> {
    try {
      return readMessage(id, await this.#view.get(keyOf(namespaceId, id)))
    } catch (error) {
      if (error instanceof ServiceError && error.reason === 'record_unreadable') return undefined
      throw error
    }
  }

  /** Reads the key only, so that a damaged record counts. */
  async #isStored(namespaceId: string, id: string): Promise<boolean> {
    const key = keyOf(namespaceId, id)
    const [first] = await this.#view.listKeys(key, { limit: 1 })
    return first === key
  }

  async #messagesOf(namespaceId: string): Promise<NamespaceMessages> {
    const load = async () => ({ messages: await this.#load(namespaceId) })
    return (await this.#copies.readShared(namespaceId, load)).messages
  }

  async #load(namespaceId: string): Promise<NamespaceMessages> {
    const folder = `${namespaceId}/`
    const records = await this.#view.list(folder)
    const messages = records.map(({ key, value }) => readMessage(key.slice(folder.length), value))
    return new NamespaceMessages(new Map(messages.map((message) => [message.id, message])))
  }

  /** Messages have been written, perhaps by another server. */
  #reported(keys: readonly string[] | undefined): void {
    if (keys === undefined) this.#anyChanged()
    for (const namespaceId of new Set(keys?.map((key) => key.slice(0, key.indexOf('/'))))) {
      this.#copies.drop(namespaceId)
      this.#changed(namespaceId)
    }
  }

  #anyChanged(): void {
    this.#copies.dropAll()
    this.#versions.clear()
    this.#defaultVersion = ++this.#lastVersion
    this.#notify(undefined)
  }

  #changed(namespaceId: string): void {
    this.#versions.set(namespaceId, ++this.#lastVersion)
    this.#notify(namespaceId)
  }

  #notify(namespaceId: string | undefined): void {
    for (const listener of this.#listeners) listener(namespaceId)
  }
}

const keyOf = (namespaceId: string, id: string): string => `${namespaceId}/${id}`
