import { AsyncLocalStorage } from 'node:async_hooks'
import { fail, ServiceError } from '../errors.ts'
import { currentFence } from '../storage/shared-storage.ts'
import type { ViewEntry } from './barrier/view.ts'
import { JoinedEntries, type JoinedEntry } from './joined-entries.ts'
import { pauseAfterAttempt, writeAttempts } from './stored-record.ts'

export type JoinedParts = {
  /** All or nothing; false if an expectation did not hold. */
  write(entries: readonly ViewEntry[]): Promise<boolean>
  /** Called before a round: returns what its write must contain too. */
  guard?(): Promise<readonly ViewEntry[]>
  /** Runs a round, when it may begin. */
  turn?(round: () => Promise<void>): Promise<void>
}

/**
 * Resolves once the entries are durable, all or none; throws if the change must be decided again. No two changes
 * of a round have a claim in common. For all changes of a round it resolves at once, in the order in which they
 * were decided.
 */
export type JoinedWrite = (entries: readonly JoinedEntry[], claims?: readonly string[]) => Promise<void>

/** A change that waits for its round. */
type Waiting = {
  decide(write: JoinedWrite): Promise<unknown>
  settle(outcome: Outcome): void
  /** Runs work for the caller, that is with the rights of its background job. */
  readonly inContext: (work: () => Promise<void>) => Promise<void>
  /** Undefined for one that shares a round with none. */
  kind: string | undefined
  attempts: number
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** A change of the round in progress. `written` is undefined if it has ended without a write. */
type Member = {
  readonly waiting: Waiting
  readonly outcome: Promise<Outcome>
  readonly written: PromiseWithResolvers<void> | undefined
}

const mostTogether = 64
/** A change that was overtaken so often shares no further round: the cause may be one of its own. */
const mostShared = 4
const again = new Error('the change must be decided again')

/**
 * Changes that depend on each other are decided one after the other. Those of a kind that wait together share a
 * round, and so a commit: each is decided on the state that the ones before it leave, then all are written at once.
 * What a round has decided is told to nobody before it is durable. If an expectation does not hold, each change
 * is decided again.
 */
export class JoinedChanges {
  readonly #parts: JoinedParts
  readonly #waiting: Waiting[] = []
  /** Resolves when no change waits. */
  #running: Promise<void> | undefined

  constructor(parts: JoinedParts) {
    this.#parts = parts
  }

  /**
   * Runs `decide`, which must use the passed function for its one write, and may run again. With a `kind`, changes
   * of that kind that were decided before may still have to be written: what `decide` reads must
   * tell of them, or one of its entries or claims must be one of theirs.
   */
  run<T>(decide: (write: JoinedWrite) => Promise<T>, kind?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        decide,
        // the value is that of `decide`
        settle: (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.value as T)),
        inContext: AsyncLocalStorage.snapshot(),
        // what a job writes must fail with the job, and nothing else must
        kind: currentFence() === undefined ? kind : undefined,
        attempts: 0,
      })
      this.#running ??= this.#runAll()
    })
  }

  async #runAll(): Promise<void> {
    const { turn = (round: () => Promise<void>) => round() } = this.#parts
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting)
      await first.inContext(() => turn(() => this.#round()))
    this.#running = undefined
  }

  /** Resolves once all changes that were begun have ended. */
  async ended(): Promise<void> {
    await this.#running
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    let guard: readonly ViewEntry[]
    try {
      guard = (await this.#parts.guard?.()) ?? []
    } catch (error) {
      this.#waiting.shift()?.settle({ error })
      return
    }
    const entries = new JoinedEntries()
    const members = await this.#decide(entries)
    const result = await this.#write(members, entries, guard)
    // all at once: what another server writes from now on must not be followed before memory has what they wrote
    for (const { written } of members) {
      if (result === undefined) written?.resolve()
      else written?.reject(result)
    }
    const left: Waiting[] = []
    for (const member of members) if (!(await this.#settle(member, result))) left.push(member.waiting)
    // those that lost to another server may well share their next round
    const isAlone = ({ attempts }: Waiting) => guard.length === 0 || attempts >= mostShared
    if (result === again) for (const waiting of left) if (isAlone(waiting)) waiting.kind = undefined
    this.#waiting.unshift(...left)
    const [first] = left
    if (result === again && first !== undefined) await pauseAfterAttempt(first.attempts)
  }

  /** Decides the next changes, as many as go together. */
  async #decide(entries: JoinedEntries): Promise<Member[]> {
    const members: Member[] = []
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const [first] = members
      if (first !== undefined && (first.waiting.kind === undefined || first.waiting.kind !== next.kind)) break
      const member = await decided(next, entries)
      if (member === undefined) break
      this.#waiting.shift()
      members.push(member)
      if (members.length === mostTogether || entries.isFull) break
    }
    return members
  }

  /** Undefined once all is durable; `again`, or the error of those that write. */
  async #write(
    members: readonly Member[],
    entries: JoinedEntries,
    guard: readonly ViewEntry[],
  ): Promise<unknown> {
    const writers = members.filter(({ written }) => written !== undefined)
    if (writers.length === 0) return undefined
    try {
      return (await this.#parts.write([...entries.all, ...guard])) ? undefined : again
    } catch (error) {
      // what one of them caused, such as a name that is too long, is the error of that one only
      const isOfOne = error instanceof ServiceError && error.kind !== 'unavailable'
      if (!isOfOne || writers.length === 1) return error
      for (const { waiting } of members) waiting.kind = undefined
      return again
    }
  }

  /** False if the change must be decided again. */
  async #settle({ waiting, outcome, written }: Member, failure: unknown): Promise<boolean> {
    // what it has decided may depend on what was not written
    if (failure !== undefined && written === undefined) return false
    const result = await outcome
    if (!('error' in result && result.error === again)) waiting.settle(result)
    else if (++waiting.attempts < writeAttempts) return false
    else waiting.settle({ error: fail('unavailable', 'too many changes at a time') })
    return true
  }
}

/** Runs a change up to its write. Undefined if it must not share a write with those before it. */
async function decided(waiting: Waiting, entries: JoinedEntries): Promise<Member | undefined> {
  const written = Promise.withResolvers<void>()
  const writes = Promise.withResolvers<boolean>()
  const write: JoinedWrite = async (added, claims = []) => {
    const isAdded = entries.add(added, claims)
    writes.resolve(isAdded)
    if (!isAdded) throw again
    await written.promise
  }
  const { promise: outcome, resolve: end } = Promise.withResolvers<Outcome>()
  const decide = async () => waiting.decide(write)
  await waiting.inContext(async () => {
    decide().then(
      (value) => end({ value }),
      (error: unknown) => end({ error }),
    )
  })
  const isAdded = await Promise.race([writes.promise, outcome.then(() => undefined)])
  if (isAdded !== false) return { waiting, outcome, written: isAdded ? written : undefined }
  await outcome
  return undefined
}
