import type { IncomingMessage } from 'node:http'
import { refuse, type ServiceError } from '../errors.ts'

/** Bytes of all request bodies that are held at once. Contract operations §1, MAX_BUFFERED. */
export class BodyBudget {
  readonly #most: number
  #held = 0

  constructor(most: number) {
    this.#most = most
  }

  get isSpent(): boolean {
    return this.#held > this.#most
  }

  take(bytes: number): void {
    this.#held += bytes
  }

  give(bytes: number): void {
    this.#held -= bytes
  }
}

const tooLarge = () => refuse('too-large', 'http: request body too large')
export const overloaded = () => refuse('overloaded', 'server is overloaded')

/** Is the body by its own word too large? Contract operations §5: this comes before it is read. */
export function announcedSizeRefusal(request: IncomingMessage, maxBytes: number): ServiceError | undefined {
  return Number(request.headers['content-length'] ?? 0) > maxBytes ? tooLarge() : undefined
}

/**
 * Reads a body whole, within the limit of one and of all together; what was taken from the budget is given back when the request is read or broken off.
 * After a refusal the rest is read and dropped, so that the client can still read the answer.
 */
export function readBody(request: IncomingMessage, maxBytes: number, budget: BodyBudget, done: (error: Error | null, body?: Buffer) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  let settled = false
  const settle = (error: Error | null, body?: Buffer) => {
    if (settled) return
    settled = true
    done(error, body)
  }
  request.once('close', () => {
    budget.give(size)
    settle(refuse('invalid', ''))
  })
  request.on('error', () => settle(refuse('invalid', '')))
  request.on('data', (chunk: Buffer) => {
    if (settled) return
    size += chunk.length
    budget.take(chunk.length)
    chunks.push(chunk)
    const refusal = size > maxBytes ? tooLarge() : budget.isSpent ? overloaded() : undefined
    if (refusal === undefined) return
    chunks.length = 0
    settle(refusal)
  })
  request.on('end', () => settle(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
}
