import type { Random } from '../../lib/random.ts'
import type { Range, View } from '../../core/barrier/view.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { type Acknowledgement, Acknowledgements } from './acknowledgements.ts'
import type { Message, MessageDraft } from './message.ts'
import { messageRecord, readMessage } from './message-record.ts'
import { NamespaceMessages } from './namespace-messages.ts'
import { MessageCache } from './message-cache.ts'

export type { Acknowledgement }

export type MessageStoreParts = { readonly view: View; readonly random: Random }

/**
 * Stores one record for each message and caches recently used namespaces. A write resolves once it is
 * durable; every method rejects if storage fails. docs/contract/messages.md#room
 */
export class MessageStore {
  readonly #view: View
  readonly #random: Random
  readonly #acknowledgements: Acknowledgements
  readonly #cache: MessageCache
  /** Serializes changes to a message. */
  readonly #mutex = new KeyedMutex()
  readonly #versions = new Map<string, number>()
  readonly #listeners = new Set<(namespaceId: string) => void>()
  #lastVersion = 0
  /** The version of every namespace that has no entry in `#versions`. */
  #defaultVersion = 0

  constructor({ view, random }: MessageStoreParts) {
    this.#view = view.view('message/', { numbers: 'literal' })
    this.#random = random
    this.#acknowledgements = new Acknowledgements(view)
    this.#cache = new MessageCache((namespaceId) => this.#load(namespaceId))
  }

  /** All messages of one namespace, later starts first. */
  listOf(namespaceId: string): Promise<readonly Message[]> {
    return this.#cache.use(namespaceId, (messages) => messages.sorted)
  }

  find(namespaceId: string, id: string): Promise<Message | undefined> {
    return this.#cache.use(namespaceId, (messages) => messages.get(id))
  }

  /** Throws if the namespace is full, counting pending writes. */
  create(namespaceId: string, draft: MessageDraft): Promise<Message> {
    return this.#cache.use(namespaceId, (messages) =>
      this.#write(namespaceId, messages, { ...draft, id: this.#random.uuid() }),
    )
  }

  /** `change` returns the new message; an error it throws aborts the update. Undefined if no such message. */
  update(
    namespaceId: string,
    id: string,
    change: (old: Message) => MessageDraft,
  ): Promise<Message | undefined> {
    const work = async (messages: NamespaceMessages) => {
      const old = messages.get(id)
      return old === undefined
        ? undefined
        : await this.#write(namespaceId, messages, { ...change(old), id }, old)
    }
    return this.#mutex.runExclusive(keyOf(namespaceId, id), () => this.#cache.use(namespaceId, work))
  }

  /**
   * Deletes a message and its acknowledgements. Works even if the namespace's messages cannot be read, so
   * that a damaged record can be removed.
   */
  async delete(namespaceId: string, id: string): Promise<void> {
    await this.#mutex.runExclusive(keyOf(namespaceId, id), async () => {
      const mayExist = await this.find(namespaceId, id).then(
        (message) => message !== undefined,
        () => true,
      )
      if (!mayExist) return
      await this.#view.write([{ key: keyOf(namespaceId, id), value: undefined }])
      const messages = await this.#cache.present(namespaceId)
      messages?.drop(id)
      this.#changed(namespaceId)
    })
    await this.#acknowledgements.removeOf(namespaceId, id)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    await this.#view.deletePrefix(`${namespaceId}/`)
    await this.#acknowledgements.removeNamespace(namespaceId)
    this.#cache.remove(namespaceId)
    this.#versions.delete(namespaceId)
    // namespace ids are never reused; a later read of this version must still see a new one
    this.#defaultVersion = ++this.#lastVersion
    this.#notify(namespaceId)
  }

  /** Only the first acknowledgement of an entity is stored. False if no such message. */
  acknowledge(namespaceId: string, id: string, acknowledgement: Acknowledgement): Promise<boolean> {
    return this.#cache.use(namespaceId, async (messages) => {
      if (messages.get(id) === undefined) return false
      await this.#acknowledgements.add(namespaceId, id, acknowledgement)
      return true
    })
  }

  /** Sorted by entity id, as is `range.after`. Undefined if no such message. */
  acknowledgements(namespaceId: string, id: string, range?: Range): Promise<Acknowledgement[] | undefined> {
    return this.#cache.use(namespaceId, (messages) =>
      messages.get(id) === undefined ? undefined : this.#acknowledgements.list(namespaceId, id, range),
    )
  }

  /**
   * Grows with each change of the namespace's messages, but not with acknowledgements. Local to this process.
   */
  version(namespaceId: string): number {
    return this.#versions.get(namespaceId) ?? this.#defaultVersion
  }

  /** Calls `listener` after each change. Returns a function that removes the listener. */
  onChange(listener: (namespaceId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #write(
    namespaceId: string,
    messages: NamespaceMessages,
    message: Message,
    old?: Message,
  ): Promise<Message> {
    const release = messages.reserve(message, old)
    try {
      await this.#view.write([{ key: keyOf(namespaceId, message.id), value: messageRecord(message) }])
    } finally {
      release()
    }
    messages.put(message)
    this.#changed(namespaceId)
    return message
  }

  async #load(namespaceId: string): Promise<NamespaceMessages> {
    const folder = `${namespaceId}/`
    const records = await this.#view.list(folder)
    return new NamespaceMessages(
      records.map(({ key, value }) => readMessage(key.slice(folder.length), value)),
    )
  }

  #changed(namespaceId: string): void {
    this.#versions.set(namespaceId, ++this.#lastVersion)
    this.#notify(namespaceId)
  }

  #notify(namespaceId: string): void {
    for (const listener of this.#listeners) listener(namespaceId)
  }
}

const keyOf = (namespaceId: string, id: string): string => `${namespaceId}/${id}`
