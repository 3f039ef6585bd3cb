import { refuse } from '../../errors.ts'
import { isJsonNumber } from '../../lib/text/json.ts'
import { byStart, type Message } from './message.ts'

/** docs/contract/messages.md#room */
const maxMessages = 100

/** Limit for all messages of a namespace. One message of the largest accepted request body fits. */
const maxSize = 40 * 1024 * 1024

export class NamespaceMessages {
  /** Estimated memory in bytes. */
  readonly size: number
  readonly #messages: ReadonlyMap<string, Message>
  #sorted: readonly Message[] | undefined

  constructor(messages: ReadonlyMap<string, Message>, size = sizeOf(messages)) {
    this.#messages = messages
    this.size = size
  }

  get(id: string): Message | undefined {
    return this.#messages.get(id)
  }

  /** Later starts first. */
  get sorted(): readonly Message[] {
    this.#sorted ??= [...this.#messages.values()].sort(byStart)
    return this.#sorted
  }

  /** With a new message, or one in place of that with the same id. Throws if there is no room for it. */
  with(message: Message): NamespaceMessages {
    const old = this.#messages.get(message.id)
    if (old === undefined && this.#messages.size >= maxMessages)
      throw refuse('invalid', 'maximum number of messages already exist')
    const growth = messageSize(message) - (old === undefined ? 0 : messageSize(old))
    if (growth > 0 && this.size + growth > maxSize)
      throw refuse('invalid', 'the messages of this namespace take too much space')
    return new NamespaceMessages(new Map([...this.#messages, [message.id, message]]), this.size + growth)
  }
}

const sizeOf = (messages: ReadonlyMap<string, Message>): number =>
  messages.values().reduce((sum, message) => sum + messageSize(message), 0)

const bytesPerMessage = 512
const bytesPerValue = 48

/** Estimated memory of a message in bytes. Not recursive, so deeply nested options are safe. */
export function messageSize(message: Message): number {
  let size = bytesPerMessage
  const left: unknown[] = [message]
  while (left.length > 0) {
    const value = left.pop()
    size += bytesPerValue
    if (typeof value === 'string') size += value.length
    else if (isJsonNumber(value)) size += value.rawJSON.length
    else if (Array.isArray(value)) for (const item of value) left.push(item)
    else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        size += key.length
        left.push(item)
      }
    }
  }
  return size
}
