import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { type FailPoint, type Failure, StorageFaults } from '../../src/storage/faults.ts'

/** A process of its own that holds the database and writes; see the end of this file. */
export type Writer = AsyncDisposable & {
  pid: number | undefined
  /** Keys whose write was answered, in order. Ends with the process. */
  acknowledged: AsyncIterable<string>
  kill(): void
}

export type Crash = { point: FailPoint; failure: Failure; skip: number }

/** Resolves when the process has the database; rejects with what it printed when it could not get it. */
export async function startWriter(path: string, crash?: Crash): Promise<Writer> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), path, JSON.stringify(crash ?? null)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ready = await lines.next()
  if (ready.value !== 'ready') throw new Error(await errorText(child))
  return {
    pid: child.pid,
    acknowledged: { [Symbol.asyncIterator]: () => lines },
    kill: () => child.kill('SIGKILL'),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

async function errorText(child: ChildProcess): Promise<string> {
  const parts: string[] = []
  for await (const part of child.stderr ?? []) parts.push(String(part))
  return parts.join('')
}

/** Writes pairs of records with 16 callers until it is killed, and prints each key once its write is answered. */
async function write(path: string, crash: Crash | null): Promise<void> {
  const faults = new StorageFaults()
  const storage = await openSqlite({ path, faults })
  process.stdout.write('ready\n')
  if (crash !== null) faults.arm(crash.point, crash.failure, crash.skip)
  const callers = Array.from({ length: 16 }, async (_, caller) => {
    for (let round = 0; ; round += 1) {
      const key = `${process.pid}/${caller}/${round}`
      const value = Buffer.alloc(400, key)
      const isWritten = await storage.write([
        { key: `left/${key}`, value, expect: 'absent' },
        { key: `right/${key}`, value },
      ])
      if (isWritten) process.stdout.write(`${key}\n`)
    }
  })
  await Promise.all(callers)
}

const [, program, path, crash] = process.argv
if (program === fileURLToPath(import.meta.url) && path !== undefined) await write(path, JSON.parse(crash ?? 'null'))
