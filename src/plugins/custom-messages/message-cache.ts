import type { NamespaceMessages } from './namespace-messages.ts'

/** Limit for all namespaces together; the least recently used are evicted first. */
const maxSize = 64 * 1024 * 1024
const bytesPerNamespace = 512

type Entry = { readonly messages: NamespaceMessages; countedSize: number }

/**
 * Loads the messages of each namespace on demand. Entries in use are never evicted, so a namespace never has
 * two copies.
 */
export class MessageCache {
  readonly #load: (namespaceId: string) => Promise<NamespaceMessages>
  readonly #entries = new Map<string, Entry>()
  readonly #loading = new Map<string, Promise<NamespaceMessages>>()
  readonly #users = new Map<string, number>()
  #size = 0

  constructor(load: (namespaceId: string) => Promise<NamespaceMessages>) {
    this.#load = load
  }

  /** Runs `work` on the messages of a namespace. Rejects if they cannot be loaded. */
  async use<T>(namespaceId: string, work: (messages: NamespaceMessages) => T | Promise<T>): Promise<T> {
    this.#users.set(namespaceId, (this.#users.get(namespaceId) ?? 0) + 1)
    try {
      return await work(this.#entries.get(namespaceId)?.messages ?? (await this.#loaded(namespaceId)))
    } finally {
      const users = (this.#users.get(namespaceId) ?? 1) - 1
      if (users === 0) this.#users.delete(namespaceId)
      else this.#users.set(namespaceId, users)
      this.#touch(namespaceId)
    }
  }

  /**
   * The messages if they are cached or being loaded. A copy loaded before a write became durable must be
   * updated.
   */
  async present(namespaceId: string): Promise<NamespaceMessages | undefined> {
    await this.#loading.get(namespaceId)?.catch(() => undefined)
    return this.#entries.get(namespaceId)?.messages
  }

  remove(namespaceId: string): void {
    this.#size -= this.#entries.get(namespaceId)?.countedSize ?? 0
    this.#entries.delete(namespaceId)
  }

  #loaded(namespaceId: string): Promise<NamespaceMessages> {
    const running = this.#loading.get(namespaceId)
    if (running !== undefined) return running
    const loading = this.#read(namespaceId).finally(() => this.#loading.delete(namespaceId))
    this.#loading.set(namespaceId, loading)
    return loading
  }

  async #read(namespaceId: string): Promise<NamespaceMessages> {
    const messages = await this.#load(namespaceId)
    this.#entries.set(namespaceId, { messages, countedSize: 0 })
    return messages
  }

  /** Updates the counted size, marks the entry as most recently used and evicts others if needed. */
  #touch(namespaceId: string): void {
    const entry = this.#entries.get(namespaceId)
    if (entry === undefined) return
    const size = bytesPerNamespace + entry.messages.size
    this.#size += size - entry.countedSize
    entry.countedSize = size
    this.#entries.delete(namespaceId)
    this.#entries.set(namespaceId, entry)
    if (this.#size <= maxSize) return
    for (const oldest of this.#entries.keys()) {
      if (!this.#users.has(oldest)) this.remove(oldest)
      if (this.#size <= maxSize) return
    }
  }
}
