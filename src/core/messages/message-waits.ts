import { countedAddress } from '../../lib/address.ts'

/**
 * Requests held until there is something to tell: who waits where, and how many per client address.
 * docs/contract/messages.md#waiting
 */
export class MessageWaits {
  readonly #mostPerAddress: number
  readonly #countByAddress = new Map<string, number>()
  readonly #byNamespace = new Map<string, Set<Wait>>()
  #isOver = false

  constructor({ mostPerAddress }: { mostPerAddress: number }) {
    this.#mostPerAddress = mostPerAddress
  }

  /**
   * Begins one of at most `waitMs` for changes in any of the namespaces, ids; undefined when that address has
   * as many as it may.
   */
  begin({
    address,
    namespaces,
    waitMs,
  }: {
    address: string
    namespaces: readonly string[]
    waitMs: number
  }): Wait | undefined {
    const client = countedAddress(address)
    const count = this.#countByAddress.get(client) ?? 0
    if (count >= this.#mostPerAddress) return undefined
    this.#countByAddress.set(client, count + 1)
    const wait = new Wait(waitMs, () => {
      this.#leave(client)
      for (const id of namespaces) this.#forget(id, wait)
    })
    for (const id of namespaces) {
      const waits = this.#byNamespace.get(id)
      if (waits === undefined) this.#byNamespace.set(id, new Set([wait]))
      else waits.add(wait)
    }
    if (this.#isOver) wait.end()
    return wait
  }

  /** Something was written in the namespace of this id. */
  changed(id: string): void {
    for (const wait of this.#byNamespace.get(id) ?? []) wait.lookAgain()
  }

  /** The namespace of this id and all below go: nobody waits for it any longer. */
  endNamespace(id: string): void {
    for (const wait of this.#byNamespace.get(id) ?? []) wait.end()
  }

  /** Something has changed for everyone. */
  lookAgain(): void {
    for (const waits of this.#byNamespace.values()) for (const wait of waits) wait.lookAgain()
  }

  /** From now on nobody waits. */
  endAll(): void {
    this.#isOver = true
    for (const waits of this.#byNamespace.values()) for (const wait of waits) wait.end()
  }

  #leave(client: string): void {
    const left = (this.#countByAddress.get(client) ?? 1) - 1
    if (left > 0) this.#countByAddress.set(client, left)
    else this.#countByAddress.delete(client)
  }

  #forget(id: string, wait: Wait): void {
    const waits = this.#byNamespace.get(id)
    waits?.delete(wait)
    if (waits?.size === 0) this.#byNamespace.delete(id)
  }
}

/** A request that is held. What happens while nobody listens is not lost: the next `pause` is none. */
export class Wait implements Disposable {
  readonly #leave: () => void
  readonly #timer: NodeJS.Timeout
  #isOver = false
  #isDue = true
  #goOn: (() => void) | undefined

  constructor(waitMs: number, leave: () => void) {
    this.#leave = leave
    this.#timer = setTimeout(() => this.end(), waitMs)
  }

  /** Its time is up, or it was ended. */
  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Resolves when it is time to look again: at once the first time, then after a change, at the end, or after
   * so many milliseconds.
   */
  async pause(atMostMs: number): Promise<void> {
    if (!this.#isDue) await this.#change(atMostMs)
    this.#isDue = this.#isOver
  }

  #change(atMostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(atMostMs)
        ? setTimeout(() => this.lookAgain(), Math.min(atMostMs, longestTimerMs))
        : undefined
      this.#goOn = () => {
        clearTimeout(timer)
        this.#goOn = undefined
        resolve()
      }
    })
  }

  lookAgain(): void {
    this.#isDue = true
    this.#goOn?.()
  }

  end(): void {
    this.#isOver = true
    this.lookAgain()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#leave()
  }
}

/** More than any wait lasts. */
const longestTimerMs = 60_000
