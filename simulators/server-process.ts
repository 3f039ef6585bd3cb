import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { endWithUs } from './exit.ts'

export type ServerProcessOptions = {
  /** Holds database, seal key and root token; kept between starts. */
  folder: string
  /** Default: a free port. */
  port?: number
  /** The program; default `src/main.ts`. */
  entry?: string
  /** Further settings. */
  environment?: Record<string, string>
}

/** Gatehouse as an operator starts it: a process of its own on loopback, steered by its environment and HTTP alone. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly rootToken: string
  /** From the start of the process to the first 200 of `/health/ready`. */
  readonly readyAfterMs: number
  /** SIGTERM by default; resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

const sourceFolder = join(import.meta.dirname, '..')
/** What `npm start` sets. */
const startScriptMemory = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768' }
const startLimitMs = 60_000
const pollEveryMs = 2

/** Starts the server and waits until it is ready. Rejects with the end of its log when it ends before that. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { folder, port = await findFreePort(), entry = join(sourceFolder, 'src/main.ts') } = options
  const url = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['--expose-gc', '--disable-sigusr1', entry], {
    cwd: sourceFolder,
    env: { ...startScriptMemory, ...environmentOf(folder, port), ...options.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endWithUs(child)
  const ended = once(child, 'close')
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    await ended
  }
  const log = keepEndOf(child)
  try {
    await waitUntilReady(child, url)
    const readyAfterMs = performance.now() - startedAt
    const rootToken = (await readFile(join(folder, 'root-token'), 'utf8')).trim()
    return { url, port, pid: pidOf(child), rootToken, readyAfterMs, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop('SIGKILL')
    throw new Error(`the server did not start:\n${log()}`, { cause: error })
  }
}

/** A port nobody listens on. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return address.port
}

function environmentOf(folder: string, port: number): Record<string, string> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:GATEHOUSE_|CLOUD_|HTTPS_PROXY$)/.test(name))
  return {
    // both as `npm start` sets them
    NODE_COMPILE_CACHE: join(sourceFolder, 'node_modules/.cache/gatehouse'),
    UV_THREADPOOL_SIZE: '16',
    ...Object.fromEntries(inherited),
    GATEHOUSE_LISTEN: `127.0.0.1:${port}`,
    GATEHOUSE_STORAGE: `sqlite:${join(folder, 'gatehouse.db')}`,
    GATEHOUSE_SEAL_KEY_FILE: join(folder, 'seal.key'),
    GATEHOUSE_ROOT_TOKEN_FILE: join(folder, 'root-token'),
    GATEHOUSE_LOG_LEVEL: 'warn',
  }
}

async function waitUntilReady(child: ChildProcess, url: string): Promise<void> {
  const giveUpAt = performance.now() + startLimitMs
  while (child.exitCode === null && child.signalCode === null) {
    const status = await fetch(`${url}/health/ready`).then(
      async (response) => {
        await response.body?.cancel()
        return response.status
      },
      () => 0,
    )
    if (status === 200) return
    if (performance.now() > giveUpAt) throw new Error('not ready in time')
    await wait(pollEveryMs)
  }
  throw new Error('it ended')
}

/** Reads the log all along, so that the pipe never fills, and keeps its last part. */
function keepEndOf(child: ChildProcess): () => string {
  let end = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    end = (end + text).slice(-4000)
  })
  return () => end
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the server was not started')
  return child.pid
}
