import { refuse } from '../../errors.ts'
import { byStart, type Message } from './message.ts'
import { messageSize } from './message-size.ts'

/** docs/contract/messages.md#room */
const maxMessages = 100

/** Limit for all messages of a namespace. One message of the largest accepted request body fits. */
const maxSize = 40 * 1024 * 1024

/** The messages of one namespace, including reservations for pending writes. */
export class NamespaceMessages {
  readonly #messages: Map<string, Message>
  #size: number
  #reservedCount = 0
  #reservedSize = 0
  #sorted: readonly Message[] | undefined

  constructor(messages: readonly Message[]) {
    this.#messages = new Map(messages.map((message) => [message.id, message]))
    this.#size = messages.reduce((sum, message) => sum + messageSize(message), 0)
  }

  /** Estimated memory in bytes. */
  get size(): number {
    return this.#size
  }

  get(id: string): Message | undefined {
    return this.#messages.get(id)
  }

  get sorted(): readonly Message[] {
    this.#sorted ??= [...this.#messages.values()].sort(byStart)
    return this.#sorted
  }

  /**
   * Reserves room for a message that is about to be written, either new or in place of `old`. Returns a
   * function that releases the reservation. Throws if the namespace is full.
   */
  reserve(message: Message, old?: Message): () => void {
    const count = old === undefined ? 1 : 0
    const size = Math.max(0, messageSize(message) - (old === undefined ? 0 : messageSize(old)))
    if (count > 0 && this.#messages.size + this.#reservedCount >= maxMessages)
      throw refuse('invalid', 'maximum number of messages already exist')
    if (size > 0 && this.#size + this.#reservedSize + size > maxSize)
      throw refuse('invalid', 'the messages of this namespace take too much space')
    this.#reservedCount += count
    this.#reservedSize += size
    return () => {
      this.#reservedCount -= count
      this.#reservedSize -= size
    }
  }

  put(message: Message): void {
    this.drop(message.id)
    this.#messages.set(message.id, message)
    this.#size += messageSize(message)
  }

  drop(id: string): void {
    const old = this.#messages.get(id)
    this.#sorted = undefined
    if (old === undefined) return
    this.#messages.delete(id)
    this.#size -= messageSize(old)
  }
}
