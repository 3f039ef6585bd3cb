import { Limiter } from '../../lib/concurrency/limiter.ts'
import type { Session } from './session.ts'
import { statements } from './statements.ts'

type Waiter = { resolve(session: Session): void; reject(cause: unknown): void; timer: NodeJS.Timeout }

const waitMs = 2_000
/** Between two looks at what has become of commits. */
const lookMs = 500
/** After a failure to connect, callers fail with it at once for this long. */
const pauseMs = 200

/** At most `size` connections, opened when needed. The last used one is used first. */
export class Pool implements AsyncDisposable {
  readonly #open: () => Promise<Session>
  readonly #size: number
  /**
   * How many connections may write at a time; reads have the rest. As many commits that were given up may still
   * wait in the database for a standby.
   */
  readonly #mostWrites: number
  readonly #writes: Limiter
  readonly #idle: Session[] = []
  readonly #waiting: Waiter[] = []
  readonly #all = new Set<Session>()
  /** Those that must not be used again. */
  readonly #old = new WeakSet<Session>()
  /** The backends of connections that were given up in the middle of their work. */
  #abandoned: ReadonlySet<string> = new Set()
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  #opening = 0
  #failure: { readonly cause: unknown; readonly at: number } | undefined
  #closed = false

  constructor(open: () => Promise<Session>, size: number) {
    this.#open = open
    this.#size = size
    this.#mostWrites = Math.max(1, size - Math.ceil(size / 4))
    this.#writes = new Limiter(this.#mostWrites)
  }

  get states(): { readonly idle: number; readonly busy: number; readonly opening: number } {
    return { idle: this.#idle.length, busy: this.#all.size - this.#idle.length, opening: this.#opening }
  }

  /** As `use`, for work that writes. Rejects at once while too many commits wait for a standby. */
  async write<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#abandoned.size >= this.#mostWrites) await this.#lookForAbandoned()
    return await this.#writes.run(() =>
      this.use((session) => {
        if (this.#abandoned.size >= this.#mostWrites)
          throw new Error('too many commits are waiting for a standby of the database')
        return work(session)
      }),
    )
  }

  /** Runs work on a connection that nobody else uses meanwhile. */
  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = this.#idle.pop() ?? (await this.#next())
    try {
      return await work(session)
    } finally {
      const { abandoned } = session
      if (abandoned !== undefined) this.#abandoned = new Set([...this.#abandoned, abandoned])
      await session.leaveTransaction()
      this.#release(session)
    }
  }

  /** Ends all connections: each may be to a database that is no longer the one to write to. */
  empty(): void {
    for (const session of this.#idle.splice(0)) session.destroy()
    for (const session of this.#all) this.#old.add(session)
  }

  /** Ends a connection that nobody uses, if there is one. */
  giveUpOne(): void {
    this.#idle.at(0)?.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    this.#refuseWaiting(new Error('the pool is closed'))
    await Promise.all(this.#idle.splice(0).map((session) => session.end()))
  }

  /** Nothing ends the wait of a commit for a synchronous standby, not even the end of its connection. */
  async #lookForAbandoned(): Promise<void> {
    if (performance.now() - this.#lookedAt < lookMs) return
    // not at once: the look needs a connection, and so may begin another one
    this.#looking ??= Promise.resolve()
      .then(() => this.#look())
      .finally(() => {
        this.#looking = undefined
      })
    await this.#looking
  }

  async #look(): Promise<void> {
    const asked = this.#abandoned
    const rows = await this.use((session) =>
      session.query(statements.waitingForStandby, [`{${[...asked].join()}}`]),
    )
    const waiting = new Set(rows.map(([backend]) => String(backend)))
    this.#abandoned = new Set([...this.#abandoned].filter((one) => !asked.has(one) || waiting.has(one)))
    this.#lookedAt = performance.now()
    if (this.#waiting.length > 0) this.#grow()
  }

  #next(): Promise<Session> {
    if (this.#closed) return Promise.reject(new Error('the pool is closed'))
    const failure = this.#recentFailure()
    if (failure !== undefined && this.#all.size === 0) return Promise.reject(failure.cause)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(new Error('no connection to the database is free'))
      }, waitMs)
      const waiter = { resolve, reject, timer }
      this.#waiting.push(waiter)
      this.#grow()
    })
  }

  #grow(): void {
    // one is left, so that the pool can look
    const abandoned = Math.min(this.#abandoned.size, this.#size - 1)
    if (abandoned > 0) this.#lookForAbandoned().catch(() => undefined)
    if (this.#all.size + this.#opening + abandoned >= this.#size || this.#opening >= this.#waiting.length)
      return
    // the connections that are open go on
    if (this.#all.size > 0 && this.#recentFailure() !== undefined) return
    this.#opening += 1
    this.#open().then(
      (session) => {
        this.#opening -= 1
        this.#failure = undefined
        this.#all.add(session)
        session.onBroken(() => this.#forget(session))
        this.#release(session)
      },
      (cause: unknown) => {
        this.#opening -= 1
        this.#failure = { cause, at: performance.now() }
        if (this.#all.size === 0 && this.#opening === 0) this.#refuseWaiting(cause)
      },
    )
  }

  #recentFailure(): { readonly cause: unknown } | undefined {
    const isRecent = this.#failure !== undefined && performance.now() - this.#failure.at < pauseMs
    return isRecent ? this.#failure : undefined
  }

  #refuseWaiting(cause: unknown): void {
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(cause)
    }
  }

  #forget(session: Session): void {
    this.#all.delete(session)
    const at = this.#idle.indexOf(session)
    if (at >= 0) this.#idle.splice(at, 1)
    if (this.#waiting.length > 0) this.#grow()
  }

  #release(session: Session): void {
    if (this.#old.has(session)) session.destroy()
    if (session.isBroken) {
      if (this.#waiting.length > 0) this.#grow()
      return
    }
    if (this.#closed) return void session.end()
    const waiter = this.#waiting.shift()
    if (waiter === undefined) return void this.#idle.push(session)
    clearTimeout(waiter.timer)
    waiter.resolve(session)
  }
}
