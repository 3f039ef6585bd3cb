import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { killOnExit } from '../simulators/exit.ts'

/** A running program of this folder that listens on a loopback port. */
export interface Program extends AsyncDisposable {
  readonly port: number
  readonly pid: number
}

const startLimitMs = 10_000

/** Starts `bench/<file> <args>` with the server's thread pool size, and waits until it listens. */
export async function startProgram(file: string, args: readonly string[] = []): Promise<Program> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { UV_THREADPOOL_SIZE: '16', ...process.env },
  })
  killOnExit(child)
  const ended = once(child, 'close')
  const stop = async () => {
    child.kill()
    await ended
  }
  const limit = setTimeout(() => child.kill(), startLimitMs)
  const printed = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => []),
  ])
  clearTimeout(limit)
  const port = Number(printed[0])
  if (child.pid === undefined || !(port > 0)) {
    await stop()
    throw new Error(`${file} did not start`)
  }
  return { port, pid: child.pid, [Symbol.asyncDispose]: stop }
}
