import { fork } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { foreignEnvironment } from '../../lib/system/foreign-environment.ts'
import { type FileIdentity, isSameFile } from '../file-watch.ts'
import { checkLogSize } from '../sqlite/log-size.ts'
import { engineCode, ownCodes } from '../storage-error.ts'
import type { BackupFacts, GivenFacts } from './backup-facts.ts'
import type { CopyOutcome, CopySource, CopyTask } from './backup-program.ts'

export type CopyOptions = {
  /** The database, which servers may be using. */
  readonly source: CopySource
  /** The file to create. A file left there by an interrupted copy is replaced. */
  readonly target: string
  readonly given: GivenFacts
  readonly signal?: AbortSignal
  /** Size of the write-ahead log at which the copy gives up; it grows while the copy reads. */
  readonly maxLogBytes?: number
}

export type Copied = { readonly facts: BackupFacts; readonly handle: FileHandle }

const checkMs = 200
const program = new URL('./backup-program.ts', import.meta.url)

/**
 * Copies a database in a process of its own, which can be ended at any time and leaves the processor to
 * others. The copy is durable when this resolves; its handle is still open. Rejects with an error that has a
 * `code`, and leaves nothing behind.
 */
export async function copyDatabase(options: CopyOptions): Promise<Copied> {
  const { target } = options
  await removeCopy(target)
  const handle = await open(target, 'wx+', 0o600)
  try {
    const facts = await runCopy(options, handle)
    await handle.sync()
    return { facts, handle }
  } catch (cause) {
    const own = await handle.stat({ bigint: true })
    await handle.close()
    // another process may have begun a copy of the same name
    if (isAt(target, own)) await removeCopy(target)
    throw cause
  }
}

function isAt(path: string, file: FileIdentity): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found !== undefined && isSameFile(found, file)
}

async function runCopy(
  { source, target, given, signal, maxLogBytes }: CopyOptions,
  handle: FileHandle,
): Promise<BackupFacts> {
  const child = fork(program, {
    execArgv: [],
    env: foreignEnvironment(process.env),
    stdio: 'ignore',
    serialization: 'json',
  })
  const ended = new AbortController()
  const result: { outcome: CopyOutcome } = {
    outcome: { code: 'COPY_ENDED', message: 'the copying process ended' },
  }
  child.on('message', (message: CopyOutcome) => {
    result.outcome = message
  })
  const giveUp = (cause: unknown) => {
    result.outcome = { code: engineCode(cause), message: cause instanceof Error ? cause.message : '' }
    child.kill('SIGKILL')
  }
  const abort = () => giveUp(Object.assign(new Error('the copy was ended'), { code: ownCodes.aborted }))
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  const watching = watch(ended.signal, async () => {
    // many unwritten pages at the end would delay the commits of the server
    await handle.datasync()
    try {
      if (typeof source === 'string') checkLogSize(source, maxLogBytes)
    } catch (cause) {
      giveUp(cause)
    }
  })
  try {
    child.send({ source, target, given } satisfies CopyTask, () => {})
    await once(child, 'exit')
  } finally {
    signal?.removeEventListener('abort', abort)
    ended.abort()
    await watching
  }
  const { outcome } = result
  if ('facts' in outcome) return outcome.facts
  throw Object.assign(new Error(outcome.message), { code: outcome.code })
}

/** Repeats a check until `ended`. A check that fails has no effect: the copy itself reports what is wrong. */
async function watch(ended: AbortSignal, check: () => Promise<void>): Promise<void> {
  while (!ended.aborted) {
    await pause(checkMs, undefined, { signal: ended }).catch(() => {})
    await check().catch(() => {})
  }
}

/**
 * Removes a copy of a database, with the journal that a killed process may have left: SQLite would apply it to
 * the next copy of that name.
 */
export async function removeCopy(path: string): Promise<void> {
  for (const end of ['-journal', '']) await rm(path + end, { force: true })
}
