import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { endWithUs } from '../simulators/exit.ts'
import { findFreePort } from '../simulators/server-process.ts'

/** A program of this folder that listens on a port of loopback. */
export interface Program extends AsyncDisposable {
  readonly port: number
  readonly pid: number
}

const startLimitMs = 10_000

/** Starts `bench/<file> --port P <args>` with the thread pool the server gets, and waits until it takes connections. */
export async function startProgram(file: string, args: readonly string[] = []): Promise<Program> {
  const port = await findFreePort()
  const child = spawn(process.execPath, [join(import.meta.dirname, file), '--port', String(port), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { UV_THREADPOOL_SIZE: '16', ...process.env },
  })
  endWithUs(child)
  const ended = once(child, 'close')
  const stop = async () => {
    child.kill()
    await ended
  }
  const giveUpAt = performance.now() + startLimitMs
  while (!(await takesConnections(port))) {
    if (child.exitCode !== null || performance.now() > giveUpAt) {
      await stop()
      throw new Error(`${file} did not start`)
    }
    await wait(10)
  }
  if (child.pid === undefined) throw new Error(`${file} did not start`)
  return { port, pid: child.pid, [Symbol.asyncDispose]: stop }
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}
