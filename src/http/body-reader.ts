import type { IncomingMessage } from 'node:http'
import { refuse, type ServiceError } from '../errors.ts'

/** Bytes of all request bodies and large answers that are held at once. Contract operations §1, MAX_BUFFERED. */
export class BodyBudget {
  readonly #most: number
  #held = 0

  constructor(most: number) {
    this.#most = most
  }

  get held(): number {
    return this.#held
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

/** Bodies up to this size are read whatever the load, where the load must not matter. */
const alwaysReadBytes = 16 * 1024

export type BodyLimits = {
  maxBytes: number
  budget: BodyBudget
  /** Served whatever the load: sealing, and taking tokens back. Contract operations §5. */
  exempt: boolean
}

/**
 * Reads a body whole, within the limit of one and of all together; `taken` is told of bytes that count against the budget, and gives them back when the
 * request is over. After a refusal the rest is read and dropped, so that the client can still read the answer.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, budget, exempt }: BodyLimits,
  taken: (bytes: number) => void,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const gathered = new Gathered(Number(request.headers['content-length'] ?? maxBytes))
  let settled = false
  const settle = (error: Error | null, body?: Buffer) => {
    if (settled) return
    settled = true
    done(error, body)
  }
  const brokenOff = () => {
    if (!settled) settle(refuse('invalid', ''))
  }
  request.once('close', brokenOff)
  request.on('error', brokenOff)
  request.on('data', (chunk: Buffer) => {
    if (settled) return
    const size = gathered.size + chunk.length
    if (size > maxBytes) return refused(tooLarge())
    taken(gathered.add(chunk))
    if (budget.isSpent && !(exempt && size <= alwaysReadBytes)) refused(overloaded())
  })
  request.on('end', () => settle(null, gathered.bytes))

  function refused(refusal: ServiceError): void {
    gathered.clear()
    settle(refusal)
  }
}

const empty: Buffer = Buffer.alloc(0)

/**
 * The chunks of a body in one piece of memory. They are not kept as they come: a client may send each byte as a chunk of its own, and the objects around
 * them would take a hundred times what the limits count.
 */
class Gathered {
  readonly #mostBytes: number
  #memory: Buffer = empty
  size = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get bytes(): Buffer {
    return this.#memory.length === this.size ? this.#memory : this.#memory.subarray(0, this.size)
  }

  /** Gives back by how many bytes the memory grew. */
  add(chunk: Buffer): number {
    const before = this.#memory.length
    if (before === 0) this.#memory = chunk
    else {
      if (this.size + chunk.length > before) this.#grow(this.size + chunk.length)
      chunk.copy(this.#memory, this.size)
    }
    this.size += chunk.length
    return this.#memory.length - before
  }

  clear(): void {
    this.#memory = empty
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(2 * needed, this.#mostBytes)))
    this.#memory.copy(larger, 0, 0, this.size)
    this.#memory = larger
  }
}
