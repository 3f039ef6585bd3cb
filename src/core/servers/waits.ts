import { refuse } from '../../errors.ts'
import { countedAddress } from '../../lib/net/address.ts'
import { exactDurationField } from '../../lib/text/fields.ts'

const longestWaitSeconds = 60

/** How long a read is held, in seconds: a field of the paths that hold reads. */
export const waitField = exactDurationField
  .default(0)
  .describe(
    'With If-None-Match: how long to wait for a change, at most 60 s; as 30s, 1500ms or a number of seconds',
  )

export const waitMsOf = ({ wait }: { readonly wait: number }): number =>
  Math.min(wait, longestWaitSeconds) * 1000

/** A read that is held until what it reads changes. */
export type HeldRead<T> = {
  readonly address: string
  readonly topics: readonly string[]
  readonly waitMs: number
  /** What the client waits for, in the refusal of one request too many. */
  readonly what: 'messages' | 'secrets'
  /** Calls the listener when the client sends nothing more. Returns a function that removes it. */
  whenSilent(listener: () => void): () => void
  /** Stops counting the request as in progress, until the returned function is called. */
  readonly setAside: (() => () => void) | undefined
  /** The longest pause before the next check. */
  pauseMs(last: T): number
  /** Repeats the checks of the request, because the state may have changed while it was held. */
  check(): Promise<void>
  load(): Promise<T>
  /** Whether the client knows this state. */
  isKnown(loaded: T): boolean
}

/**
 * Long polls: requests held until something changes, with a limit per client address.
 * docs/contract/messages.md#waiting, docs/contract/kv.md#conditional-calls
 */
export class Waits {
  readonly #maxPerAddress: number
  readonly #countByAddress = new Map<string, number>()
  readonly #byTopic = new Map<string, Set<Wait>>()
  #isClosed = false

  constructor({ maxPerAddress }: { maxPerAddress: number }) {
    this.#maxPerAddress = maxPerAddress
  }

  /**
   * Starts a wait of at most `waitMs` for a change of any of the topics. Undefined if the address has reached
   * its limit.
   */
  begin({
    address,
    topics,
    waitMs,
  }: Pick<HeldRead<never>, 'address' | 'topics' | 'waitMs'>): Wait | undefined {
    const client = countedAddress(address)
    const count = this.#countByAddress.get(client) ?? 0
    if (count >= this.#maxPerAddress) return undefined
    this.#countByAddress.set(client, count + 1)
    const wait = new Wait(waitMs, () => {
      this.#release(client)
      for (const topic of topics) this.#remove(topic, wait)
    })
    for (const topic of topics) {
      const waits = this.#byTopic.get(topic)
      if (waits === undefined) this.#byTopic.set(topic, new Set([wait]))
      else waits.add(wait)
    }
    if (this.#isClosed) wait.end()
    return wait
  }

  /** Holds a read whose client knows `first`. Resolves with another state, or with the last one when the wait ends. */
  async hold<T>(read: HeldRead<T>, first: T): Promise<T> {
    using wait = this.begin(read)
    if (wait === undefined)
      throw refuse('throttled', `too many requests of this address are waiting for ${read.what}`)
    // a client that closes its sending side gets its response at once
    const unwatch = read.whenSilent(() => wait.end())
    const resume = read.setAside?.()
    try {
      for (let last = first; ; ) {
        await wait.pause(Math.max(1, read.pauseMs(last)))
        await read.check()
        last = await read.load()
        if (!read.isKnown(last) || wait.hasEnded) return last
      }
    } finally {
      resume?.()
      unwatch()
    }
  }

  /** Wakes the waits for a topic that has changed; undefined: any may have. */
  changed(topic: string | undefined): void {
    if (topic === undefined) this.wakeAll()
    else for (const wait of this.#byTopic.get(topic) ?? []) wait.wake()
  }

  /** Ends the waits for a topic that is gone. */
  endTopic(topic: string): void {
    for (const wait of this.#byTopic.get(topic) ?? []) wait.end()
  }

  wakeAll(): void {
    for (const waits of this.#byTopic.values()) for (const wait of waits) wait.wake()
  }

  /** Ends all waits, and every later one at once. */
  endAll(): void {
    this.#isClosed = true
    for (const waits of this.#byTopic.values()) for (const wait of waits) wait.end()
  }

  #release(client: string): void {
    const left = (this.#countByAddress.get(client) ?? 1) - 1
    if (left > 0) this.#countByAddress.set(client, left)
    else this.#countByAddress.delete(client)
  }

  #remove(topic: string, wait: Wait): void {
    const waits = this.#byTopic.get(topic)
    waits?.delete(wait)
    if (waits?.size === 0) this.#byTopic.delete(topic)
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
