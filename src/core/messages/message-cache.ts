import type { NamespaceMessages } from './namespace-messages.ts'

/** Messages in memory, all namespaces together: those asked for longest ago go first. */
const maxSize = 64 * 1024 * 1024
const bytesPerShelf = 512

type Kept = { readonly shelf: NamespaceMessages; counted: number }

/**
 * The messages of each namespace, read on demand. Messages in use stay cached, so a namespace never has two
 * copies.
 */
export class MessageCache {
  readonly #load: (namespaceId: string) => Promise<NamespaceMessages>
  readonly #kept = new Map<string, Kept>()
  readonly #loading = new Map<string, Promise<NamespaceMessages>>()
  readonly #users = new Map<string, number>()
  #size = 0

  constructor(load: (namespaceId: string) => Promise<NamespaceMessages>) {
    this.#load = load
  }

  /** Rejects with what reading them rejects with. */
  async use<T>(namespaceId: string, work: (shelf: NamespaceMessages) => T | Promise<T>): Promise<T> {
    this.#users.set(namespaceId, (this.#users.get(namespaceId) ?? 0) + 1)
    try {
      return await work(this.#kept.get(namespaceId)?.shelf ?? (await this.#loaded(namespaceId)))
    } finally {
      const users = (this.#users.get(namespaceId) ?? 1) - 1
      if (users === 0) this.#users.delete(namespaceId)
      else this.#users.set(namespaceId, users)
      this.#settle(namespaceId)
    }
  }

  /**
   * The messages that are cached or being read: a copy read before a write became durable must be told of
   * that write.
   */
  async present(namespaceId: string): Promise<NamespaceMessages | undefined> {
    await this.#loading.get(namespaceId)?.catch(() => undefined)
    return this.#kept.get(namespaceId)?.shelf
  }

  /** For a namespace that is gone. */
  forget(namespaceId: string): void {
    this.#size -= this.#kept.get(namespaceId)?.counted ?? 0
    this.#kept.delete(namespaceId)
  }

  #loaded(namespaceId: string): Promise<NamespaceMessages> {
    const running = this.#loading.get(namespaceId)
    if (running !== undefined) return running
    const loading = this.#read(namespaceId).finally(() => this.#loading.delete(namespaceId))
    this.#loading.set(namespaceId, loading)
    return loading
  }

  async #read(namespaceId: string): Promise<NamespaceMessages> {
    const shelf = await this.#load(namespaceId)
    this.#kept.set(namespaceId, { shelf, counted: 0 })
    return shelf
  }

  /** Counts what it takes now and makes it the one used last. */
  #settle(namespaceId: string): void {
    const kept = this.#kept.get(namespaceId)
    if (kept === undefined) return
    const size = bytesPerShelf + kept.shelf.size
    this.#size += size - kept.counted
    kept.counted = size
    this.#kept.delete(namespaceId)
    this.#kept.set(namespaceId, kept)
    if (this.#size <= maxSize) return
    for (const oldest of this.#kept.keys()) {
      if (!this.#users.has(oldest)) this.forget(oldest)
      if (this.#size <= maxSize) return
    }
  }
}
