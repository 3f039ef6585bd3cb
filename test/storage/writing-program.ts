import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type FailPoint, type Failure, StorageFaults } from '../../src/storage/faults.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'

/** A separate process that holds the database and writes; see the end of this file. */
export type Writer = AsyncDisposable & {
  pid: number | undefined
  /** Each acknowledged or refused write, in order. Ends with the process. */
  answers: AsyncIterable<Answer>
  kill(): void
}

/** `isStored`: according to the response. */
export type Answer = { readonly key: string; readonly isStored: boolean }

export type Crash = { point: FailPoint; failure: Failure; skip: number }

export type WriterOptions = {
  /** Number of concurrent writes, 16 by default. */
  callers?: number
  /** Minimum duration of each commit. */
  commitMs?: number
  crash?: Crash | undefined
  environment?: Record<string, string>
  /** A copy of this file in a copy of the project; default: this file. */
  program?: string
}

/** Resolves when the process has the database; rejects with its output if it could not get it. */
export async function startWriter(path: string, options: WriterOptions = {}): Promise<Writer> {
  const {
    callers = 16,
    commitMs = 0,
    crash,
    environment = {},
    program = fileURLToPath(import.meta.url),
  } = options
  const child = spawn(process.execPath, [program, path, JSON.stringify({ callers, commitMs, crash })], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ready = await lines.next()
  if (ready.value !== 'ready') throw new Error(await errorText(child))
  return {
    pid: child.pid,
    answers: { [Symbol.asyncIterator]: () => answersOf(lines) },
    kill: () => child.kill('SIGKILL'),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

async function* answersOf(lines: AsyncIterableIterator<string>): AsyncGenerator<Answer> {
  for await (const line of lines) yield { key: line.slice(1), isStored: line.startsWith('+') }
}

async function errorText(child: ChildProcess): Promise<string> {
  const parts: string[] = []
  for await (const part of child.stderr ?? []) parts.push(String(part))
  return parts.join('')
}

/**
 * Writes pairs of records until it is killed, and prints each key once its write is answered: `+` for a
 * success, `-` for a refusal, at which it kills itself.
 */
async function write(
  path: string,
  { callers, commitMs, crash }: { callers: number; commitMs: number; crash?: Crash },
): Promise<void> {
  const faults = new StorageFaults()
  const storage = await openSqlite({ path, faults })
  process.stdout.write('ready\n')
  faults.delay('storage.before-commit', commitMs)
  if (crash !== undefined) faults.arm(crash.point, crash.failure, crash.skip)
  const call = async (caller: number) => {
    for (let round = 0; ; round += 1) {
      const key = `${process.pid}/${caller}/${round}`
      const value = Buffer.alloc(400, key)
      const pair = [
        { key: `left/${key}`, value, expect: 'absent' as const },
        { key: `right/${key}`, value },
      ]
      const isStored = await storage.write(pair).catch(() => false)
      process.stdout.write(`${isStored ? '+' : '-'}${key}\n`)
      if (!isStored) process.kill(process.pid, 'SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
}

const [, program, path, options] = process.argv
if (program === fileURLToPath(import.meta.url) && path !== undefined)
  await write(path, JSON.parse(options ?? ''))
