import type { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { StartError } from '../errors.ts'
import { type CopyMark, type CopyMarks, refuseMarked } from './copy-marks.ts'
import type { ReadRow, RecordSum } from './record-digest.ts'

/** A store as source or target of a copy. Methods reject with the engine's error. */
export type CopyEnd = AsyncDisposable & {
  /** For the operator. */
  readonly name: string
  /** Throws a StartError 3 while a server uses the store. */
  refuseServers(): Promise<void>
  value(key: string): Promise<Buffer | undefined>
  marks(): Promise<CopyMarks>
  /** Durable. Undefined removes the mark. */
  mark(mark: CopyMark, value: number | undefined): Promise<void>
  lastKey(): Promise<string | undefined>
  /** In key order, from the key after `after`. */
  pages(after: string | undefined): AsyncIterable<readonly ReadRow[]>
  /** Durable, all or nothing. */
  append(page: readonly ReadRow[]): Promise<void>
  sum(): Promise<RecordSum>
}

/**
 * Copies all records of a store that no server uses into an empty one. No server starts on the target before
 * the copy is complete, nor on the source afterwards. With `resume`, continues a copy that was interrupted.
 * Throws a StartError: 3 while a server uses a store, 1 for a refusal.
 */
export async function copyStore(
  source: CopyEnd,
  target: CopyEnd,
  { resume }: { resume: boolean },
): Promise<RecordSum> {
  for (const end of [source, target]) await end.refuseServers()
  const origin = await originOf(source)
  const isBegun = await checkTarget(target, { origin, resume })
  await checkSource(source, { origin, isBegun })
  if (!isBegun) await target.mark('unfinished_copy', origin)
  for await (const page of source.pages(await target.lastKey())) await target.append(page)
  const sum = await comparedSum(source, target)
  // from here on, no server starts on either until the last step
  await source.mark('moved', origin)
  try {
    for (const end of [source, target]) await end.refuseServers()
  } catch (cause) {
    await source.mark('moved', undefined)
    throw cause
  }
  await target.mark('unfinished_copy', undefined)
  return sum
}

const rootKeyKey = 'barrier/root-key'

/** A number that identifies the store, because each has a root key of its own. */
async function originOf(source: CopyEnd): Promise<number> {
  const rootKey = await source.value(rootKeyKey)
  if (rootKey === undefined) throw new StartError(1, `${source.name} is empty: there is nothing to copy`)
  return createHash('sha256').update(rootKey).digest().readUIntBE(0, 6)
}

/** Whether the target is this copy, unfinished. */
async function checkTarget(
  target: CopyEnd,
  { origin, resume }: { origin: number; resume: boolean },
): Promise<boolean> {
  const { unfinished_copy: begun } = await target.marks()
  if (begun === undefined) {
    if ((await target.lastKey()) === undefined) return false
    throw new StartError(1, `${target.name} is not empty`)
  }
  if (begun !== origin) throw new StartError(1, `${target.name} is an unfinished copy of another store`)
  if (!resume) throw new StartError(1, `${target.name} is an unfinished copy: continue it with --resume`)
  return true
}

/** A copy that was interrupted in its last step has already marked its source. */
async function checkSource(
  { name, marks }: CopyEnd,
  { origin, isBegun }: { origin: number; isBegun: boolean },
): Promise<void> {
  const found = await marks()
  refuseMarked(name, isBegun && found.moved === origin ? { ...found, moved: undefined } : found)
}

async function comparedSum(source: CopyEnd, target: CopyEnd): Promise<RecordSum> {
  const [wanted, found] = [await source.sum(), await target.sum()]
  if (wanted.records === found.records && wanted.digest === found.digest) return found
  throw new StartError(
    1,
    `${target.name} has other records than ${source.name}, which was changed meanwhile: empty the target and copy again`,
  )
}
