import { setTimeout as pause } from 'node:timers/promises'
import { StartError } from '../../errors.ts'
import type { Pool } from './pool.ts'
import { statements } from './statements.ts'

const beatMs = 1_000
/** A server of the same name that has not beaten for this long is replaced. */
const lapsedMs = 4_000
const lookMs = 250
/** Servers that are asked answer in some milliseconds. */
const soonMs = 10
const soonLooks = 50
/** A server without a heartbeat for this long is not waited for. */
export const liveMs = 10_000

export type ReplicaParts = {
  readonly pool: Pool
  readonly id: string
  readonly name: string
  readonly notifies: boolean
  /** A live server that has not handled a version for this long is not waited for. */
  readonly patienceMs: number
  /** The version of the changes that this server has confirmed. */
  versionSeen(): number
  onFenced(): void
}

/** This server's row in `replicas`, which it keeps alive. docs/replicas.md#registration */
export class Replica implements AsyncDisposable {
  readonly #parts: ReplicaParts
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()
  #closed = false

  constructor(parts: ReplicaParts) {
    this.#parts = parts
  }

  /**
   * Adds the row. Replaces a server of the same name that is no longer alive. Throws a StartError if one is.
   */
  async register(): Promise<void> {
    const { pool, id, name } = this.#parts
    const started = performance.now()
    let seen: string | undefined
    while (!(await pool.write((session) => session.query(statements.addReplica, [id, name]))).length) {
      const [row] = await pool.use((session) => session.query(statements.findReplica, [name]))
      if (row === undefined) continue
      const [other, beat] = [String(row[0]), String(row[1])]
      if (other === id) return
      const current = `${other} ${beat}`
      if (seen !== undefined && current !== seen)
        throw new StartError(2, `GATEHOUSE_REPLICA_NAME: another server that is running is called ${name}`)
      seen = current
      if (performance.now() - started > lapsedMs)
        await pool.write((session) => session.query(statements.replaceReplica, [other, beat]))
      else await pause(lookMs)
    }
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#beating = this.beat().then(() => {
        if (!this.#closed) this.start()
      })
    }, beatMs)
  }

  /**
   * Resolves once all live servers have handled the version. One that is dead, or does not handle it in time, loses
   * its row: it cannot write any more until it has handled it.
   */
  async seenByAll(version: number): Promise<void> {
    const { pool, notifies, patienceMs } = this.#parts
    const until = performance.now() + patienceMs
    const fenced = new Set<string>()
    await this.beat()
    for (let looks = 0; ; looks += 1) {
      if (this.#closed) throw new Error('the storage is closed')
      const rows = await pool.use((session) =>
        session.query(statements.behindReplicas, [String(version), String(liveMs)]),
      )
      const behind = rows
        .map(([id, isAlive]) => ({ id: String(id), isAlive: isAlive === 't' }))
        .filter(({ id }) => !fenced.has(id))
      if (behind.length === 0) return
      const isLate = performance.now() > until
      for (const { id, isAlive } of behind) {
        if (isAlive && !isLate) continue
        const age = isLate ? 0 : liveMs
        const gone = await pool.write((session) =>
          session.query(statements.fenceReplica, [id, String(version), String(age)]),
        )
        // it may have registered again by the next look
        if (gone.length > 0) fenced.add(id)
      }
      if (notifies) await pool.use((session) => session.query(statements.askForHeartbeats))
      await pause(notifies && looks < soonLooks ? soonMs : lookMs)
    }
  }

  /** Says that this server is alive, and what it has confirmed. Never rejects. */
  async beat(): Promise<void> {
    const { pool, id, versionSeen, onFenced } = this.#parts
    try {
      const rows = await pool.write((session) =>
        session.query(statements.heartbeat, [id, String(versionSeen())]),
      )
      if (rows.length === 0) onFenced()
    } catch {
      // the storage reports failures of its own calls
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#beating
    await this.leave()
  }

  /** Removes the row. Never rejects. */
  async leave(): Promise<void> {
    const { pool, id } = this.#parts
    await pool.write((session) => session.query(statements.removeReplica, [id])).catch(() => {})
  }
}
