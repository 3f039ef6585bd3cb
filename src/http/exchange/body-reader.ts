import type { IncomingMessage } from 'node:http'
import { refuse, type ServiceError } from '../../errors.ts'

/** A request whose body has not arrived completely. */
export type ArrivingBody = {
  /** Of its head and its body. */
  readonly heldBytes: number
  /** Whether it must be read under any load. */
  readonly isProtected: boolean
  /** Refuses it with 503 and returns its bytes to the budget. */
  refuse(): void
}

/**
 * Total bytes of the request heads, request bodies and responses held at once. MAX_BUFFERED:
 * docs/contract/http.md#limits
 */
export class BodyBudget {
  readonly #most: number
  readonly #arriving = new Set<ArrivingBody>()
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

  /** The body may be refused until the returned function is called. */
  admit(body: ArrivingBody): () => void {
    this.#arriving.add(body)
    return () => this.#arriving.delete(body)
  }

  /**
   * Refuses unfinished bodies, the largest first, until the rest fits. So clients that leave large bodies
   * unfinished never displace those that send small ones.
   */
  makeRoom(): void {
    while (this.isSpent) {
      const largest = this.#largest()
      if (largest === undefined) return
      largest.refuse()
    }
  }

  #largest(): ArrivingBody | undefined {
    let largest: ArrivingBody | undefined
    for (const body of this.#arriving) {
      if (!body.isProtected && body.heldBytes > (largest?.heldBytes ?? 0)) largest = body
    }
    return largest
  }
}

/** Whether a body follows the head. Over HTTP/2, its length need not be known. */
export const announcesBody = ({ headers, stream }: IncomingMessage): boolean =>
  stream === undefined
    ? headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
    : !stream.endAfterHeaders

const tooLarge = () => refuse('too-large', 'http: request body too large')
export const overloaded = () => refuse('overloaded', 'server is overloaded')

/** Throws for a body whose `Content-Length` exceeds the limit, before any of it is read. */
export function checkAnnouncedSize(request: IncomingMessage, maxBytes: number): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
}

/** Bodies of exempt requests are read under any load up to this size, in bytes. */
const alwaysReadBytes = 16 * 1024

export type BodyLimits = {
  maxBytes: number
  budget: BodyBudget
  /** Of the head, which counts already. */
  headBytes: number
  /** Served under any load: sealing, and revoking tokens and leases. docs/contract/http.md#limits */
  exempt: boolean
}

/**
 * Reads a complete body, within the limits for one body and for all bodies together. `taken` gets the bytes
 * that count against the budget (negative when a refusal returns them); the caller returns the rest when the
 * request has ended. After a refusal the rest of the body is read and dropped, so that the client can still
 * read the response.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, budget, headBytes, exempt }: BodyLimits,
  taken: (bytes: number) => void,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const gathered = new Gathered(Number(request.headers['content-length'] ?? maxBytes))
  let settled = false
  const hasArrived = budget.admit({
    get heldBytes() {
      return headBytes + gathered.heldBytes
    },
    get isProtected() {
      return exempt && gathered.size <= alwaysReadBytes
    },
    refuse: () => refused(overloaded()),
  })
  const settle = (error: Error | null, body?: Buffer) => {
    if (settled) return
    settled = true
    hasArrived()
    done(error, body)
  }
  const brokenOff = () => {
    if (!settled) settle(refuse('invalid', ''))
  }
  const arrived = (chunk: Buffer) => {
    if (settled) return
    if (gathered.size + chunk.length > maxBytes) return refused(tooLarge())
    taken(gathered.add(chunk))
    budget.makeRoom()
  }
  request.once('close', brokenOff)
  request.on('error', brokenOff)
  request.on('data', arrived)
  // a client of HTTP/2 may give up a body without an error
  request.on('end', () =>
    request.complete && request.stream?.aborted !== true ? settle(null, gathered.bytes) : brokenOff(),
  )
  budget.makeRoom()

  function refused(refusal: ServiceError): void {
    taken(-headBytes - gathered.heldBytes)
    gathered.clear()
    settle(refusal)
  }
}

const empty: Buffer = Buffer.alloc(0)

/**
 * Collects the chunks of a body in one piece of memory. Keeping the chunks would be unsafe: a client may send
 * each byte as a separate chunk, and their objects would take a hundred times the memory that the limits
 * count.
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

  get heldBytes(): number {
    return this.#memory.length
  }

  /** Returns the growth of the memory, in bytes. */
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
