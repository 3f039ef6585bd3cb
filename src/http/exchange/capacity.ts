import type { IncomingMessage, ServerResponse } from 'node:http'
import { countedAddress } from '../../lib/net/address.ts'
import { BodyBudget, overloaded, readBody } from './body-reader.ts'
import type { Call } from './call.ts'
import { Places, type PlacesLimits } from './places.ts'
import { dropUnusedFields, headBytes } from './request-headers.ts'

export type CapacityLimits = {
  readonly maxBodyBytes: number
  /** On paths that need no token. */
  readonly maxOpenBodyBytes: number
  readonly maxBufferedBytes: number
  readonly places: PlacesLimits
}

/** Longer responses are refused while too many bytes are held. docs/limits.md#overload */
const smallBytes = 64 * 1024

type BodyRules = {
  /** Its path needs no token. */
  readonly isOpen: boolean
  /** It is read under any load. */
  readonly exempt: boolean
  isKept(field: string): boolean
}

/** How many requests a server handles at once, and how many bytes it holds for them. docs/limits.md#overload */
export class Capacity {
  readonly #limits: CapacityLimits
  readonly #budget: BodyBudget
  readonly #places: Places

  constructor(limits: CapacityLimits) {
    this.#limits = limits
    this.#budget = new BodyBudget(limits.maxBufferedBytes)
    this.#places = new Places(limits.places)
  }

  /** Number of requests that are handled now. */
  get inFlight(): number {
    return this.#places.taken
  }

  /** The limit for one body. */
  maxBytes(isOpen: boolean): number {
    return isOpen ? this.#limits.maxOpenBodyBytes : this.#limits.maxBodyBytes
  }

  /** Counts the head of a request until it ends. */
  holdHead(request: IncomingMessage, call: Call): void {
    this.#take(call, headBytes(request))
  }

  /**
   * Reads a body. Its bytes count until the request ends. Meanwhile the request keeps only the fields of its head that
   * are used, or that `isKept` names.
   */
  readBody(
    request: IncomingMessage,
    call: Call,
    { isOpen, exempt, isKept }: BodyRules,
  ): Promise<Buffer | undefined> {
    this.#take(call, -dropUnusedFields(request, isKept))
    const limits = {
      maxBytes: this.maxBytes(isOpen),
      budget: this.#budget,
      headBytes: headBytes(request),
      exempt,
    }
    return new Promise((resolve, reject) => {
      readBody(
        request,
        limits,
        (bytes) => this.#take(call, bytes),
        (error, body) => (error === null ? resolve(body) : reject(error)),
      )
    })
  }

  /** Counts the bytes of a response until its client has received it. Throws if it is large and too many are held already. */
  hold(call: Call, bytes: number): void {
    if (bytes > smallBytes && this.#budget.isSpent) throw overloaded()
    this.#take(call, bytes)
  }

  /** Takes a place for a request. Returns a promise if it has to wait, which rejects if it waits too long. */
  enter(call: Call, response: ServerResponse): Promise<void> | undefined {
    const place = this.#places.take(countedAddress(call.remoteAddress), (listener) =>
      response.once('close', listener),
    )
    if (place !== undefined) return place.then(() => this.#begin(call))
    this.#begin(call)
    return undefined
  }

  #begin(call: Call): void {
    call.isUnderWay = true
    call.setAside = this.#setAside
  }

  readonly #setAside = (): (() => void) => {
    this.#places.give()
    return () => this.#places.retake()
  }

  /** Gives the place of a request back. */
  leave(call: Call): void {
    if (!call.isUnderWay) return
    call.isUnderWay = false
    this.#places.give()
  }

  /** The request has ended. */
  end(call: Call): void {
    this.leave(call)
    this.#budget.give(call.heldBytes)
  }

  #take(call: Call, bytes: number): void {
    this.#budget.take(bytes)
    call.heldBytes += bytes
  }
}
