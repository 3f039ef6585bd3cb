import type { Range, View } from '../../core/barrier/view.ts'
import { pauseAfterAttempt } from '../../core/records/change.ts'
import { fail } from '../../errors.ts'
import type { Random } from '../../lib/random.ts'
import { Rounds } from '../../lib/rounds.ts'
import { type Acknowledgement, Acknowledgements } from './acknowledgements.ts'
import type { Message, MessageDraft } from './message.ts'
import { MessageCache } from './message-cache.ts'
import { decideChanges, type MessageChange } from './message-change.ts'
import { readMessage } from './message-record.ts'
import { NamespaceMessages } from './namespace-messages.ts'

export type { Acknowledgement }

export type MessageStoreParts = { readonly view: View; readonly random: Random }

/** How long a change is tried while other servers are quicker. */
const longestTryMs = 20_000

/** Called after messages have changed. Undefined: those of any namespace may have. */
type ChangeListener = (namespaceId: string | undefined) => void

/** Changes that are written together: their number, and what tells their callers. */
type Round = { taken: number; settle(): void }

/**
 * Stores one record for each message and caches recently used namespaces. A write resolves once it is
 * durable; every method rejects if storage fails. docs/contract/messages.md#room
 *
 * Changes of a namespace that arrive while others are written are decided one after the other, each on the
 * messages that the one before leaves, and written together.
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
  readonly #cache: MessageCache
  /** This server's changes of each namespace. */
  readonly #rounds = new Rounds<MessageChange>((namespaceId, waiting) => this.#round(namespaceId, waiting))
  readonly #versions = new Map<string, number>()
  readonly #listeners = new Set<ChangeListener>()
  #lastVersion = 0
  /** The version of every namespace that has no entry in `#versions`. */
  #defaultVersion = 0

  constructor({ view, random }: MessageStoreParts) {
    this.#view = view.view('message/', { numbers: 'literal' })
    this.#lastChanges = view.view('message-change/', { numbers: 'plain', isUncopied: true })
    this.#random = random
    this.#acknowledgements = new Acknowledgements(view)
    this.#cache = new MessageCache((namespaceId) => this.#load(namespaceId))
    this.#view.watch('', (keys) => this.#reported(keys))
  }

  /** All messages of one namespace, later starts first. */
  async listOf(namespaceId: string): Promise<readonly Message[]> {
    return (await this.#cache.read(namespaceId)).sorted
  }

  async find(namespaceId: string, id: string): Promise<Message | undefined> {
    return (await this.#cache.read(namespaceId)).get(id)
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

  /**
   * Deletes a message and its acknowledgements. Works even if the namespace's messages cannot be read, so
   * that a damaged record can be removed.
   */
  async delete(namespaceId: string, id: string): Promise<void> {
    await new Promise<void>((written, reject) =>
      this.#rounds.add(namespaceId, { deletes: id, written, reject }),
    )
    await this.#acknowledgements.removeOf(namespaceId, id)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    await this.#view.deletePrefix(`${namespaceId}/`)
    await this.#lastChanges.write([{ key: namespaceId, value: undefined }])
    await this.#acknowledgements.removeNamespace(namespaceId)
    this.#cache.drop(namespaceId)
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

  /**
   * Grows with each change of the namespace's messages, but not with acknowledgements. Local to this process.
   */
  version(namespaceId: string): number {
    return this.#versions.get(namespaceId) ?? this.#defaultVersion
  }

  /** Calls `listener` after each change. Returns a function that removes the listener. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Writes the message that `next` returns; undefined writes nothing. Calls it again after a conflict. Rejects
   * with what it throws.
   */
  #put<Next extends Message | undefined>(
    namespaceId: string,
    next: (messages: NamespaceMessages) => Next,
  ): Promise<Next> {
    return new Promise((resolve, reject) => {
      let result: Next
      this.#rounds.add(namespaceId, {
        next: (messages) => {
          result = next(messages)
          return result
        },
        written: () => resolve(result),
        reject,
      })
    })
  }

  /** Writes the changes that come first: deletions, or others. If storage fails, they are all rejected. */
  async #round(namespaceId: string, waiting: MessageChange[]): Promise<void> {
    const round = { taken: 1, settle: () => {} }
    try {
      await (waiting[0]?.deletes === undefined
        ? this.#putFirst(namespaceId, waiting, round)
        : this.#deleteFirst(namespaceId, waiting, round))
      waiting.splice(0, round.taken)
      round.settle()
    } catch (cause) {
      for (const change of waiting.splice(0, round.taken)) change.reject(cause)
    }
  }

  async #putFirst(namespaceId: string, waiting: readonly MessageChange[], round: Round): Promise<void> {
    const end = performance.now() + longestTryMs
    for (let attempt = 0; performance.now() < end; attempt += 1) {
      const last = await this.#lastChanges.read(namespaceId)
      const decided = decideChanges(await this.#messagesAfter(last?.value, namespaceId), waiting)
      round.taken = decided.taken
      round.settle = decided.settle
      if (decided.records.size === 0) return
      const after = { messages: decided.messages, change: this.#random.uuid() }
      const { drops } = this.#cache
      const isWritten = await this.#view.write([
        ...decided.records.entries().map(([id, value]) => ({ key: keyOf(namespaceId, id), value })),
        this.#lastChanges.fromRoot({
          key: namespaceId,
          value: after.change,
          expect: last?.revision ?? 'absent',
        }),
      ])
      if (isWritten) {
        this.#cache.put(namespaceId, after, drops)
        this.#changed(namespaceId)
        return
      }
      await pauseAfterAttempt(attempt)
    }
    throw fail('unavailable', 'the messages of this namespace are changed by too many at once')
  }

  async #deleteFirst(namespaceId: string, waiting: readonly MessageChange[], round: Round): Promise<void> {
    const kept = waiting.findIndex(({ deletes }) => deletes === undefined)
    const deletions = waiting.slice(0, kept === -1 ? waiting.length : kept)
    round.taken = deletions.length
    round.settle = () => {
      for (const one of deletions) one.written()
    }
    const stored: string[] = []
    for (const id of new Set(deletions.map(({ deletes = '' }) => deletes)))
      if (await this.#isStored(namespaceId, id)) stored.push(id)
    if (stored.length === 0) return
    await this.#view.write([
      ...stored.map((id) => ({ key: keyOf(namespaceId, id), value: undefined })),
      this.#lastChanges.fromRoot({ key: namespaceId, value: this.#random.uuid() }),
    ])
    this.#cache.drop(namespaceId)
    this.#changed(namespaceId)
  }

  /** The messages after the last change, from the cache if they were copied then. */
  async #messagesAfter(change: unknown, namespaceId: string): Promise<NamespaceMessages> {
    const copy = this.#cache.get(namespaceId)
    return copy !== undefined && copy.change !== undefined && copy.change === change
      ? copy.messages
      : this.#load(namespaceId)
  }

  /** Reads the key only, so that a damaged record counts. */
  async #isStored(namespaceId: string, id: string): Promise<boolean> {
    const key = keyOf(namespaceId, id)
    const [first] = await this.#view.listKeys(key, { limit: 1 })
    return first === key
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
      this.#cache.drop(namespaceId)
      this.#changed(namespaceId)
    }
  }

  #anyChanged(): void {
    this.#cache.dropAll()
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
