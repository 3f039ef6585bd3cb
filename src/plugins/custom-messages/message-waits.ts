import { countedAddress } from '../../lib/address.ts'

/**
 * Long polls: requests held until messages change, with a limit per client address.
 * docs/contract/messages.md#waiting
 */
export class MessageWaits {
  readonly #maxPerAddress: number
  readonly #countByAddress = new Map<string, number>()
  readonly #byNamespace = new Map<string, Set<Wait>>()
  #isClosed = false

  constructor({ maxPerAddress }: { maxPerAddress: number }) {
    this.#maxPerAddress = maxPerAddress
  }

  /**
   * Starts a wait of at most `waitMs` for a change in any of the namespaces, given by id. Undefined if the
   * address has reached its limit.
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
    if (count >= this.#maxPerAddress) return undefined
    this.#countByAddress.set(client, count + 1)
    const wait = new Wait(waitMs, () => {
      this.#release(client)
      for (const id of namespaces) this.#remove(id, wait)
    })
    for (const id of namespaces) {
      const waits = this.#byNamespace.get(id)
      if (waits === undefined) this.#byNamespace.set(id, new Set([wait]))
      else waits.add(wait)
    }
    if (this.#isClosed) wait.end()
    return wait
  }

  /** Wakes the waits for a namespace whose messages have changed; undefined: those of any may have. */
  changed(id: string | undefined): void {
    if (id === undefined) this.wakeAll()
    else for (const wait of this.#byNamespace.get(id) ?? []) wait.wake()
  }

  /** Ends the waits for a deleted namespace, including those of namespaces below it. */
  endNamespace(id: string): void {
    for (const wait of this.#byNamespace.get(id) ?? []) wait.end()
  }

  /** Wakes all waits. */
  wakeAll(): void {
    for (const waits of this.#byNamespace.values()) for (const wait of waits) wait.wake()
  }

  /** Ends all waits, and every later one at once. */
  endAll(): void {
    this.#isClosed = true
    for (const waits of this.#byNamespace.values()) for (const wait of waits) wait.end()
  }

  #release(client: string): void {
    const left = (this.#countByAddress.get(client) ?? 1) - 1
    if (left > 0) this.#countByAddress.set(client, left)
    else this.#countByAddress.delete(client)
  }

  #remove(id: string, wait: Wait): void {
    const waits = this.#byNamespace.get(id)
    waits?.delete(wait)
    if (waits?.size === 0) this.#byNamespace.delete(id)
  }
}

/** A held request. A change between two calls of `pause` is not lost: the next call resolves at once. */
export class Wait implements Disposable {
  readonly #release: () => void
  readonly #timer: NodeJS.Timeout
  #hasEnded = false
  #isDue = true
  #resume: (() => void) | undefined

  constructor(waitMs: number, release: () => void) {
    this.#release = release
    this.#timer = setTimeout(() => this.end(), waitMs)
  }

  /** Whether it has timed out or was ended. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Resolves when the caller should check for changes: at once the first time, then after a change, at the
   * end of the wait, or after `atMostMs`.
   */
  async pause(atMostMs: number): Promise<void> {
    if (!this.#isDue) await this.#change(atMostMs)
    this.#isDue = this.#hasEnded
  }

  #change(atMostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(atMostMs)
        ? setTimeout(() => this.wake(), Math.min(atMostMs, maxTimerMs))
        : undefined
      this.#resume = () => {
        clearTimeout(timer)
        this.#resume = undefined
        resolve()
      }
    })
  }

  wake(): void {
    this.#isDue = true
    this.#resume?.()
  }

  end(): void {
    this.#hasEnded = true
    this.wake()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#release()
  }
}

/** No wait lasts longer; keeps the delay within the range of `setTimeout`. */
const maxTimerMs = 60_000
