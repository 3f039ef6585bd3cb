import { isJsonNumber } from '../../lib/text/json.ts'
import type { Message } from './message.ts'

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
