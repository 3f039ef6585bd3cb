import { refuse } from '../../errors.ts'
import { byStart, type Message } from './message.ts'
import { messageSize } from './message-size.ts'

/** docs/contract/messages.md#room */
const maxMessages = 100

/**
 * What all messages of a namespace may take together: the largest request body fits, and one namespace cannot
 * fill the memory.
 */
const maxSize = 40 * 1024 * 1024

/** The messages of one namespace, with room held for those that are being written. */
export class NamespaceMessages {
  readonly #messages: Map<string, Message>
  #size: number
  #heldPlaces = 0
  #heldSize = 0
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
   * Holds room for a message that is about to be written, in place of another or as one more; the result
   * gives it back. Throws when there is none.
   */
  reserve(message: Message, old?: Message): () => void {
    const places = old === undefined ? 1 : 0
    const size = Math.max(0, messageSize(message) - (old === undefined ? 0 : messageSize(old)))
    if (places > 0 && this.#messages.size + this.#heldPlaces >= maxMessages)
      throw refuse('invalid', 'maximum number of messages already exist')
    if (size > 0 && this.#size + this.#heldSize + size > maxSize)
      throw refuse('invalid', 'the messages of this namespace take too much space')
    this.#heldPlaces += places
    this.#heldSize += size
    return () => {
      this.#heldPlaces -= places
      this.#heldSize -= size
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
