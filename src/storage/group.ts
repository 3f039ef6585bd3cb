import { letOthersRun } from '../lib/data/pages.ts'
import type { StoredRecord, WriteOptions } from './storage.ts'

/** One row written by a group; a `value` of undefined deletes the key. */
export type RowWrite = {
  readonly key: string
  readonly value: Uint8Array | undefined
  readonly revision: number
  /** The stored row has this revision already. */
  readonly keepsRevision: boolean
}

export type DecidedRow = RowWrite & {
  /** No other server needs to hear of it. */
  readonly isUncopied: boolean
}

type PutOptions = WriteOptions & {
  /** The revision that the stored row has already. Default: a new one. */
  readonly kept?: number | undefined
}

/** The state that a step sees: committed rows, overlaid with the writes of earlier steps of its group. */
export type Group = {
  read(key: string): StoredRecord | undefined
  put(key: string, value: Uint8Array | undefined, options?: PutOptions): void
  /** At most `limit` keys that start with `prefix`, in no particular order. */
  keysUnder(prefix: string, limit: number): string[]
}

export type Step<T> = {
  /** The keys that it reads and writes, unless they are under `prefix`. */
  readonly keys: readonly string[]
  readonly prefix?: string
  /** Its result depends on rows other than by their absence. */
  readonly seesRows: boolean
  /**
   * Runs synchronously, and again if the group could not be committed: first reads, then puts. It may throw
   * only before its first put, so that a failed step writes nothing.
   */
  run(group: Group): T
  /** As `run`, for a step of many rows: others may read between two pages, but nobody writes. */
  runInPages?(group: Group): Promise<T>
}

/** What committed rows look like to a group, and the revisions it gives. */
export type GroupSource = {
  read(key: string): StoredRecord | undefined
  keysUnder(prefix: string, limit: number): string[]
  nextRevision(): number
}

export type Waiting = {
  readonly step: Step<unknown>
  run(group: Group): void
  runInPages?(group: Group): Promise<void>
  settle(): void
  reject(cause: unknown): void
}

export type Decided = {
  /** The number of waiting steps that ran; the others did not fit. */
  readonly taken: number
  readonly succeeded: readonly Waiting[]
  readonly failed: readonly { readonly waiting: Waiting; readonly cause: unknown }[]
  /** The last write of each key. */
  readonly rows: readonly DecidedRow[]
}

export const maxGroupSteps = 256
const maxGroupBytes = 1024 * 1024
/** After so many rows of small steps, other work runs. */
const rowsAtOnce = 512

export function waitingStep<T>(
  step: Step<T>,
  resolve: (result: T) => void,
  reject: (cause: unknown) => void,
): Waiting {
  let result: T
  return {
    step,
    run: (group) => {
      result = step.run(group)
    },
    ...(step.runInPages && {
      async runInPages(group: Group) {
        if (step.runInPages !== undefined) result = await step.runInPages(group)
      },
    }),
    settle: () => resolve(result),
    reject,
  }
}

/** Runs waiting steps one after the other until the group is full. Nothing is written yet. */
export async function decide(waiting: readonly Waiting[], source: GroupSource): Promise<Decided> {
  const overlay = new Map<string, DecidedRow>()
  let bytes = 0
  const group: Group = {
    read: (key) => {
      const row = overlay.get(key)
      if (row === undefined) return source.read(key)
      return row.value === undefined ? undefined : { key, value: row.value, revision: row.revision }
    },
    put: (key, value, { kept, isUncopied = false } = {}) => {
      const before = overlay.get(key)
      overlay.set(key, {
        key,
        value,
        revision: kept ?? source.nextRevision(),
        keepsRevision: kept !== undefined && before?.keepsRevision !== false,
        isUncopied: isUncopied && before?.isUncopied !== false,
      })
      bytes += key.length + (value?.length ?? 0)
    },
    keysUnder: (prefix, limit) => {
      const written = [...overlay.values()].filter(({ key }) => key.startsWith(prefix))
      // the source still has the rows that this group deletes, so request that many more
      const keys = new Set(source.keysUnder(prefix, limit + written.length))
      for (const { key, value } of written) value === undefined ? keys.delete(key) : keys.add(key)
      return [...keys].slice(0, limit)
    },
  }
  const succeeded: Waiting[] = []
  const failed: { waiting: Waiting; cause: unknown }[] = []
  let taken = 0
  let decidedAt = 0
  for (const each of waiting) {
    if (taken === maxGroupSteps || bytes >= maxGroupBytes) break
    // many small steps take long too; a few must not wait for others
    if (overlay.size - decidedAt >= rowsAtOnce) {
      decidedAt = overlay.size
      await letOthersRun()
    }
    taken += 1
    try {
      if (each.runInPages === undefined) each.run(group)
      else await each.runInPages(group)
      succeeded.push(each)
    } catch (cause) {
      failed.push({ waiting: each, cause })
    }
  }
  return { taken, succeeded, failed, rows: [...overlay.values()] }
}
