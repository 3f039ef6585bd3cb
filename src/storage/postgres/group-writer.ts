import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../../errors.ts'
import {
  type Decided,
  type DecidedRow,
  decide,
  type GroupSource,
  maxGroupSteps,
  type Step,
  type Waiting,
  waitingStep,
} from '../group.ts'
import type { Fence } from '../shared-storage.ts'
import { deletesPerStep } from '../steps.ts'
import { engineCode } from '../storage-error.ts'
import { arrayParameter, textArray } from './array-parameter.ts'
import { changedParameters } from './changes.ts'
import {
  FencedError,
  failureOf,
  isConflict,
  isConnectionFailure,
  LostCommitError,
  UndecidedError,
} from './failures.ts'
import { KeysInFlight } from './keys-in-flight.ts'
import type { Pool } from './pool.ts'
import { recordOf, upperBound } from './reader.ts'
import type { Row, Session } from './session.ts'
import { statements, writeStatement } from './statements.ts'

type Entry = Waiting & { readonly fence: Fence | undefined; readonly era: Era }

/** Steps that were asked for between two calls of `drained`. */
type Era = { unfinished: number; onEmpty: () => void }

export type GroupWriterParts = {
  readonly pool: Pool
  readonly replicaId: string
  readonly notifies: boolean
  /** The number of this server's registration; undefined while it has none, so that nothing may be written. */
  registration(): number | undefined
  onFenced(): void
  onCommit(steps: number, seconds: number): void
  onFailure(cause: unknown): void
}

/**
 * The next group waits so long for the one under way. Steps that wait share one commit, which costs much less
 * than two; but a slow database must not make each step wait for two commits, and a lock must not stop others.
 */
const longestWaitMs = 5
const maxRetries = 5
const maxRetryMs = 2_000
const decideMs = 2_000

/**
 * Writes steps in groups, each one transaction, several at a time on connections of their own. Steps that touch
 * the same keys never share their time: the later one waits. docs/storage.md#groups-on-postgresql
 */
export class GroupWriter {
  readonly #parts: GroupWriterParts
  readonly #inFlight = new KeysInFlight()
  readonly #groups = new Set<number>()
  /** The groups under way that are reported, by commit. */
  readonly #reported = new Map<string, Promise<unknown>>()
  /** The sessions that have a slot, also after they are broken. */
  readonly #slotted = new Set<Session>()
  /** Those with a write whose outcome is not known yet. */
  readonly #writing = new Set<Session>()
  #queue: Entry[] = []
  #era: Era = { unfinished: 0, onEmpty: () => {} }
  #drained: Promise<void> = Promise.resolve()
  #isWaking = false
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #whenIdle: (() => void)[] = []

  constructor(parts: GroupWriterParts) {
    this.#parts = parts
  }

  run<T>(step: Step<T>, fence: Fence | undefined): Promise<T> {
    if (this.#closed) return Promise.reject(failureOf(new Error('closed')))
    return new Promise<T>((resolve, reject) => {
      const era = this.#era
      era.unfinished += 1
      this.#queue.push({ ...waitingStep(step, resolve, reject), fence, era })
      this.#wake()
    })
  }

  /** Resolves when the callers of a commit of this server have been answered. */
  async settled(commitId: string): Promise<void> {
    await this.#reported.get(commitId)
  }

  /** Resolves when all steps that were asked for before have been written or refused. */
  drained(): Promise<void> {
    const era = this.#era
    this.#era = { unfinished: 0, onEmpty: () => {} }
    const before = this.#drained
    const empty = new Promise<void>((resolve) => {
      if (era.unfinished === 0) resolve()
      else era.onEmpty = resolve
    })
    this.#drained = Promise.all([before, empty]).then(() => {})
    return this.#drained
  }

  /** Refuses new steps and waits for pending ones. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#queue.length > 0 || this.#groups.size > 0)
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
    clearTimeout(this.#timer)
  }

  /** Starts groups after the current turn of the event loop, so that all steps of one turn share one. */
  #wake(): void {
    if (this.#isWaking) return
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      this.#startGroups()
    })
  }

  #startGroups(): void {
    while (this.#queue.length > 0) {
      const sinceMs = performance.now() - longestWaitMs
      if (this.#groups.values().some((began) => began > sinceMs)) {
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined
          this.#startGroups()
        }, longestWaitMs)
        return
      }
      const group = this.#pick()
      if (group.length === 0) return
      void this.#run(group)
    }
  }

  /** Takes steps whose keys are free, in order, that all see rows or all do not. */
  #pick(): Entry[] {
    const picked: Entry[] = []
    const left: Entry[] = []
    const passed = new KeysInFlight()
    let seesRows: boolean | undefined
    for (const entry of this.#queue) {
      const { step } = entry
      const isFree = () => !this.#inFlight.touches(step) && !passed.touches(step)
      const fits = picked.length < maxGroupSteps && (seesRows ?? step.seesRows) === step.seesRows
      if (fits && isFree()) {
        picked.push(entry)
        seesRows = step.seesRows
      } else {
        left.push(entry)
        passed.add(step)
      }
    }
    for (const { step } of picked) this.#inFlight.add(step)
    this.#queue = left
    return picked
  }

  async #run(group: Entry[]): Promise<void> {
    const began = performance.now()
    // two groups may begin at the same moment
    let id = began
    while (this.#groups.has(id)) id += 0.000_001
    this.#groups.add(id)
    let finished = group
    try {
      const { taken, succeeded, failed, rows } = await this.#commit(group)
      if (rows.length > 0) this.#parts.onCommit(succeeded.length, (performance.now() - began) / 1000)
      for (const { waiting, cause } of failed) waiting.reject(cause)
      for (const waiting of succeeded) waiting.settle()
      finished = group.slice(0, taken)
      this.#queue.unshift(...group.slice(taken))
    } catch (cause) {
      this.#parts.onFailure(cause)
      const failure = failureOf(cause)
      for (const entry of group) entry.reject(failure)
    }
    for (const { step } of group) this.#inFlight.remove(step)
    for (const { era } of finished) {
      era.unfinished -= 1
      if (era.unfinished === 0) era.onEmpty()
    }
    this.#groups.delete(id)
    if (this.#queue.length > 0) this.#wake()
    else if (this.#groups.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  async #commit(group: readonly Entry[]): Promise<Decided> {
    const deadline = performance.now() + maxRetryMs
    let presumes = group.every(({ step, fence }) => !step.seesRows && fence === undefined)
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { pool } = this.#parts
        return await pool.write((session) => this.#attempt(session, group, presumes))
      } catch (cause) {
        if (!isConflict(cause) || attempt === maxRetries || performance.now() > deadline) throw cause
        // a row that was presumed absent exists: the rows tell which
        if (!(presumes && engineCode(cause) === '23505')) await pause(Math.random() * 10 * 2 ** attempt)
        presumes = false
      }
    }
  }

  async #attempt(session: Session, group: readonly Entry[], presumes: boolean): Promise<Decided> {
    const seen = await this.#see(session, group, presumes)
    const entries = group.map((entry) => (seen.holds(entry.fence) ? entry : refused(entry)))
    const decided = await decide(entries, seen)
    // another server may add a row that this group saw absent: it must not be deleted
    const rows = decided.rows.filter(({ key, value }) => value !== undefined || !seen.isAbsent(key))
    if (presumes && rows.length < decided.rows.length)
      throw new LostCommitError('a row that was presumed absent is deleted')
    if (rows.length > 0) await this.#write(session, rows, seen, presumes)
    else if (!presumes) await session.commit()
    return decided
  }

  async #see(session: Session, group: readonly Entry[], presumes: boolean): Promise<SeenRows> {
    try {
      await this.#prepare(session)
      return presumes ? new PresumedRows() : await lockedRows(session, group)
    } catch (cause) {
      if (!isConnectionFailure(cause)) throw cause
      throw new LostCommitError('the connection failed before the commit', { cause })
    }
  }

  /** Gives the session its row in `commits`. */
  async #prepare(session: Session): Promise<void> {
    const registration = this.#parts.registration()
    if (registration === undefined) throw new FencedError('this server is not registered')
    if (session.slot?.registration === registration) return
    const id = randomUUID()
    try {
      await session.query(statements.addSlot, [id, this.#parts.replicaId])
    } catch (cause) {
      if (engineCode(cause) !== '23503') throw cause
      this.#parts.onFenced()
      throw new FencedError('this server is not registered', { cause })
    }
    session.slot = { id, registration }
    this.#slotted.add(session)
    void this.#removeDeadSlots(session)
  }

  async #removeDeadSlots(session: Session): Promise<void> {
    const dead = [...this.#slotted].filter((one) => one.isBroken && !this.#writing.has(one))
    if (dead.length === 0) return
    for (const one of dead) this.#slotted.delete(one)
    const slots = dead.map(({ slot }) => slot?.id ?? '')
    const left = await session
      .query(statements.removeSlots, [textArray(slots)])
      .catch(() => slots.map((id) => [id]))
    for (const one of dead) if (left.some(([id]) => id === one.slot?.id)) this.#slotted.add(one)
  }

  async #write(
    session: Session,
    rows: readonly DecidedRow[],
    seen: SeenRows,
    isFirst: boolean,
  ): Promise<void> {
    const slot = session.slot?.id ?? ''
    const commitId = randomUUID()
    const { statement, values } = writeOf(rows, seen, this.#parts.notifies)
    const parameters = [commitId, slot, ...values.parameters]
    const send = async () => {
      if (isFirst && !session.isPooled) return await session.query(statement, parameters)
      const begun = isFirst ? session.beginTransaction() : Promise.resolve()
      const writing = session.query(statement, parameters)
      const [, written, isCommitted] = await all([begun, writing, session.commit()])
      if (!isCommitted) throw new LostCommitError('the transaction was rolled back')
      return written
    }
    this.#writing.add(session)
    const sent = send()
      .catch((cause: unknown) => {
        if (isConnectionFailure(cause)) return this.#findOutcome(slot, commitId, cause)
        throw cause
      })
      .finally(() => this.#writing.delete(session))
    if (values.isReported) {
      // callers are answered in the turn after
      const answered = sent.then(nextTurn, nextTurn)
      this.#reported.set(commitId, answered)
      void answered.then(() => this.#reported.delete(commitId))
    }
    const result = await sent
    if (result.length > 0) return
    this.#parts.onFenced()
    throw new FencedError('this server is not registered any more')
  }

  /** The answer to a commit was lost: its slot tells whether it happened. Else throws. */
  async #findOutcome(slot: string, commitId: string, cause: unknown): Promise<Row[]> {
    const deadline = performance.now() + decideMs
    while (performance.now() < deadline) {
      try {
        const [row] = await this.#parts.pool.use((session) => session.query(statements.removeSlot, [slot]))
        if (row?.[0] === commitId) return [[]]
        if (row !== undefined) throw new LostCommitError('the commit did not happen', { cause })
        break
      } catch (failure) {
        if (failure instanceof LostCommitError) throw failure
        await pause(50)
      }
    }
    throw new UndecidedError('the answer to a commit was lost', { cause })
  }
}

const refused = (entry: Entry): Entry => ({
  ...entry,
  run: () => {
    throw new ServiceError('unavailable', 'storage is unavailable', { reason: 'JOB_LOST' })
  },
})

/** What a group knows of the rows that it writes. */
type SeenRows = GroupSource & { isAbsent(key: string): boolean; holds(fence: Fence | undefined): boolean }

/** Takes rows that a step reads for absent. If one is not, the write fails. */
class PresumedRows implements SeenRows {
  readonly #read = new Set<string>()
  #revision = 0

  read(key: string): undefined {
    this.#read.add(key)
  }

  keysUnder(): string[] {
    throw new Error('a step that deletes a prefix sees rows')
  }

  /** The database gives the real one. */
  nextRevision(): number {
    this.#revision -= 1
    return this.#revision
  }

  isAbsent(key: string): boolean {
    return this.#read.has(key)
  }

  holds(): boolean {
    return true
  }
}

/** Locks the rows of all steps, in the order of their keys, in a new transaction. */
async function lockedRows(session: Session, group: readonly Entry[]): Promise<SeenRows> {
  const keys = [...new Set(group.flatMap(({ step }) => step.keys))]
  const prefixes = [
    ...new Set(group.flatMap(({ step: { prefix } }) => (prefix === undefined ? [] : [prefix]))),
  ]
  const jobs = [...new Set(group.flatMap(({ fence }) => (fence === undefined ? [] : [fence.job])))]
  const limit = String((deletesPerStep + 1) * Math.max(1, prefixes.length) + keys.length)
  const none: Promise<Row[]> = Promise.resolve([])
  // all in one round trip
  const [, epochs, rows, ...ranges] = await all([
    session.beginTransaction().then(() => []),
    jobs.length === 0 ? none : session.query(statements.lockJobs, [textArray(jobs)]),
    keys.length === 0 ? none : session.query(statements.lockRows, [textArray(keys)]),
    ...prefixes.map((prefix) => session.query(statements.lockRange, [prefix, upperBound(prefix), limit])),
  ])
  const records = new Map((rows ?? []).map((row) => [String(row[0]), recordOf(row)]))
  const under = ranges.flat().map(([key]) => String(key))
  const found = new Set(under)
  const epochOf = new Map((epochs ?? []).map(([name, epoch]) => [name, Number(epoch)]))
  let revision = 0
  return {
    read: (key) => records.get(key),
    keysUnder: (prefix, limit) => {
      const all = [...found, ...records.keys()].filter((key) => key.startsWith(prefix))
      return [...new Set(all)].slice(0, limit)
    },
    nextRevision: () => {
      revision -= 1
      return revision
    },
    isAbsent: (key) => !records.has(key) && !found.has(key),
    holds: (fence) => fence === undefined || epochOf.get(fence.job) === fence.epoch,
  }
}

/** Like Promise.all, but waits for all. */
async function all<T extends readonly unknown[]>(promises: { [At in keyof T]: Promise<T[At]> }): Promise<T> {
  const settled = await Promise.allSettled(promises)
  const values = settled.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
  // one value for each promise, in order
  return values as unknown as T
}

/** The statement that writes the rows, and its parameters after the first two. */
function writeOf(rows: readonly DecidedRow[], seen: SeenRows, notifies: boolean) {
  const inserts: DecidedRow[] = []
  const puts: DecidedRow[] = []
  const rewrites: DecidedRow[] = []
  const deletes: string[] = []
  const reported: string[] = []
  for (const row of rows) {
    if (!row.isUncopied) reported.push(row.key)
    if (row.value === undefined) deletes.push(row.key)
    else if (row.keepsRevision) rewrites.push(row)
    else if (seen.isAbsent(row.key)) inserts.push(row)
    else puts.push(row)
  }
  const parameters = [
    ...rowParameters(inserts),
    ...rowParameters(puts),
    ...(deletes.length > 0 ? [textArray(deletes)] : []),
    ...rowParameters(rewrites),
    ...(reported.length > 0 ? changedParameters(reported) : []),
  ]
  const statement = writeStatement(
    {
      inserts: inserts.length > 0,
      puts: puts.length > 0,
      deletes: deletes.length > 0,
      rewrites: rewrites.length > 0,
      isReported: reported.length > 0,
    },
    notifies,
  )
  return { statement, values: { parameters, isReported: reported.length > 0 } }
}

function rowParameters(rows: DecidedRow[]): Buffer[] {
  if (rows.length === 0) return []
  // groups that lock the same rows do so in the same order
  if (rows.length > 1) rows.sort((a, b) => (a.key < b.key ? -1 : 1))
  const values = rows.map(({ value }) => value ?? new Uint8Array(0))
  return [textArray(rows.map(({ key }) => key)), arrayParameter('bytea', values)]
}
