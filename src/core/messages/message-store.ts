import type { Random } from '../../lib/random.ts'
import type { Range } from '../../storage/storage.ts'
import type { View } from '../barrier/view.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { type Acknowledgement, Acknowledgements } from './acknowledgements.ts'
import type { Message, MessageDraft } from './message.ts'
import { messageRecord, readMessage } from './message-record.ts'
import { NamespaceMessages } from './namespace-messages.ts'
import { MessageCache } from './message-cache.ts'

export type { Acknowledgement }

export type MessageStoreParts = { readonly view: View; readonly random: Random }

/**
 * The messages of all namespaces, a record each; those asked for lately stay in memory. A promise of a write
 * resolves once it is durable; all reject when storage fails. docs/contract/messages.md#room
 */
export class MessageStore {
  readonly #view: View
  readonly #random: Random
  readonly #acknowledgements: Acknowledgements
  readonly #cache: MessageCache
  /** One change of a message at a time. */
  readonly #changes = new KeyedMutex()
  readonly #versions = new Map<string, number>()
  readonly #listeners = new Set<(namespaceId: string) => void>()
  #lastVersion = 0
  /** The version of each namespace that has none of its own. */
  #commonVersion = 0

  constructor({ view, random }: MessageStoreParts) {
    this.#view = view.view('message/', { numbers: 'literal' })
    this.#random = random
    this.#acknowledgements = new Acknowledgements(view)
    this.#cache = new MessageCache((namespaceId) => this.#load(namespaceId))
  }

  /** All messages of one namespace, later starts first. */
  listOf(namespaceId: string): Promise<readonly Message[]> {
    return this.#cache.use(namespaceId, (shelf) => shelf.sorted)
  }

  find(namespaceId: string, id: string): Promise<Message | undefined> {
    return this.#cache.use(namespaceId, (shelf) => shelf.get(id))
  }

  /** Throws when the namespace is full, counted with the writes that are under way. */
  create(namespaceId: string, draft: MessageDraft): Promise<Message> {
    return this.#cache.use(namespaceId, (shelf) =>
      this.#write(namespaceId, shelf, { ...draft, id: this.#random.uuid() }),
    )
  }

  /**
   * `change` gives the message as it is to be; what it throws ends the update. Undefined: there is no such
   * message.
   */
  update(
    namespaceId: string,
    id: string,
    change: (old: Message) => MessageDraft,
  ): Promise<Message | undefined> {
    const work = async (shelf: NamespaceMessages) => {
      const old = shelf.get(id)
      return old === undefined
        ? undefined
        : await this.#write(namespaceId, shelf, { ...change(old), id }, old)
    }
    return this.#changes.take(keyOf(namespaceId, id), () => this.#cache.use(namespaceId, work))
  }

  /**
   * With its acknowledgements. Also when the messages of the namespace can not be read: else one damaged
   * record would stand in the way for ever.
   */
  async delete(namespaceId: string, id: string): Promise<void> {
    await this.#changes.take(keyOf(namespaceId, id), async () => {
      const isWorthTrying = await this.find(namespaceId, id).then(
        (message) => message !== undefined,
        () => true,
      )
      if (!isWorthTrying) return
      await this.#view.write([{ key: keyOf(namespaceId, id), value: undefined }])
      const shelf = await this.#cache.present(namespaceId)
      shelf?.drop(id)
      this.#changed(namespaceId)
    })
    await this.#acknowledgements.removeOf(namespaceId, id)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    await this.#view.deletePrefix(`${namespaceId}/`)
    await this.#acknowledgements.removeNamespace(namespaceId)
    this.#cache.forget(namespaceId)
    this.#versions.delete(namespaceId)
    // its id is never used again: whoever still asks for its version gets a later one
    this.#commonVersion = ++this.#lastVersion
    this.#tell(namespaceId)
  }

  /** The first time is kept. False: there is no such message. */
  acknowledge(namespaceId: string, id: string, acknowledgement: Acknowledgement): Promise<boolean> {
    return this.#cache.use(namespaceId, async (shelf) => {
      if (shelf.get(id) === undefined) return false
      await this.#acknowledgements.add(namespaceId, id, acknowledgement)
      return true
    })
  }

  /** By entity id; `after` of the range is one too. Undefined: there is no such message. */
  acknowledgements(namespaceId: string, id: string, range?: Range): Promise<Acknowledgement[] | undefined> {
    return this.#cache.use(namespaceId, (shelf) =>
      shelf.get(id) === undefined ? undefined : this.#acknowledgements.list(namespaceId, id, range),
    )
  }

  /** Grows with each change of a message there, acknowledgements apart. Means nothing to another process. */
  version(namespaceId: string): number {
    return this.#versions.get(namespaceId) ?? this.#commonVersion
  }

  /** `listener` is called after each change; gives back how to end that. */
  onChange(listener: (namespaceId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #write(
    namespaceId: string,
    shelf: NamespaceMessages,
    message: Message,
    old?: Message,
  ): Promise<Message> {
    const giveBack = shelf.reserve(message, old)
    try {
      await this.#view.write([{ key: keyOf(namespaceId, message.id), value: messageRecord(message) }])
    } finally {
      giveBack()
    }
    shelf.put(message)
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
    this.#tell(namespaceId)
  }

  #tell(namespaceId: string): void {
    for (const listener of this.#listeners) listener(namespaceId)
  }
}

const keyOf = (namespaceId: string, id: string): string => `${namespaceId}/${id}`
