import { LRUCache } from 'lru-cache'
import type { NamespaceMessages } from './namespace-messages.ts'

/** Limit for all namespaces together; the least recently used are evicted first. */
const maxSize = 64 * 1024 * 1024
const bytesPerNamespace = 512

/** Messages of a namespace as they are stored. */
export type MessageCopy = {
  readonly messages: NamespaceMessages
  /** The id of the change after which they were copied; undefined if it is not known. */
  readonly change?: string
}

/** Loads the messages of each namespace on demand, and keeps copies until they are dropped. */
export class MessageCache {
  readonly #load: (namespaceId: string) => Promise<NamespaceMessages>
  readonly #copies = new LRUCache<string, MessageCopy>({
    maxSize,
    sizeCalculation: ({ messages }) => bytesPerNamespace + messages.size,
  })
  readonly #loading = new Map<string, Promise<MessageCopy>>()
  #drops = 0

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
    return this.#drops
  }

  /** Keeps what was written, unless something was dropped since `drops` was read, before the write. */
  put(namespaceId: string, copy: MessageCopy, drops: number): void {
    if (drops === this.#drops) {
      this.#loading.delete(namespaceId)
      this.#copies.set(namespaceId, copy)
    } else this.drop(namespaceId)
  }

  /** Forgets a copy, also one that is being loaded. */
  drop(namespaceId: string): void {
    this.#drops += 1
    this.#loading.delete(namespaceId)
    this.#copies.delete(namespaceId)
  }

  dropAll(): void {
    this.#drops += 1
    this.#loading.clear()
    this.#copies.clear()
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
