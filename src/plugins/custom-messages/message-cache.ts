import { Cache } from '../../lib/data/cache.ts'
import type { NamespaceMessages } from './namespace-messages.ts'

const bytesPerNamespace = 512

export type MessageCopy = {
  readonly messages: NamespaceMessages
  /** The id of the change after which they were copied; undefined if it is not known. */
  readonly change?: string
}

/** Loads the messages of each namespace on demand, and keeps copies until they are dropped. */
export class MessageCache {
  readonly #load: (namespaceId: string) => Promise<NamespaceMessages>
  /** The limits are for all namespaces together. */
  readonly #copies = new Cache<MessageCopy>({
    name: 'messages',
    most: 100_000,
    mostWeight: 64 * 1024 * 1024,
    weigh: ({ messages }) => bytesPerNamespace + messages.size,
  })
  readonly #loading = new Map<string, Promise<MessageCopy>>()

  constructor(load: (namespaceId: string) => Promise<NamespaceMessages>) {
    this.#load = load
  }

  get(namespaceId: string): MessageCopy | undefined {
    return this.#copies.get(namespaceId)
  }

  /** The copy of a namespace. Concurrent callers share one load. Rejects if it fails. */
  async read(namespaceId: string): Promise<NamespaceMessages> {
    const copy = this.#copies.get(namespaceId) ?? (await this.#loaded(namespaceId))
    return copy.messages
  }

  /** The number of drops so far, for `put`. */
  get drops(): number {
    return this.#copies.drops
  }

  /** Keeps what was written, unless something was dropped since `drops` was read, before the write. */
  put(namespaceId: string, copy: MessageCopy, drops: number): void {
    if (drops === this.drops) {
      this.#loading.delete(namespaceId)
      this.#copies.set(namespaceId, copy)
    } else this.drop(namespaceId)
  }

  /** Forgets a copy, also one that is being loaded. */
  drop(namespaceId: string): void {
    this.#loading.delete(namespaceId)
    this.#copies.drop(namespaceId)
  }

  dropAll(): void {
    this.#loading.clear()
    this.#copies.dropAll()
  }

  #loaded(namespaceId: string): Promise<MessageCopy> {
    const running = this.#loading.get(namespaceId)
    if (running !== undefined) return running
    const isCurrent = () => this.#loading.get(namespaceId) === loading
    const loading = this.#load(namespaceId)
      .then((messages) => {
        const copy = { messages }
        if (isCurrent()) this.#copies.set(namespaceId, copy)
        return copy
      })
      .finally(() => {
        if (isCurrent()) this.#loading.delete(namespaceId)
      })
    this.#loading.set(namespaceId, loading)
    return loading
  }
}
