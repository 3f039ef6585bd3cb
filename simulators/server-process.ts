import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { killOnExit } from './exit.ts'

export type ServerProcessOptions = {
  /** Holds the database, the seal key and the root token; kept between starts. */
  folder: string
  /** The program; default that of `npm start`. It must log `started` with its address, as the default does. */
  entry?: string
  /** Or the path of the single executable, which needs no Node. */
  executable?: string
  /** Further settings; address and log level are fixed. */
  environment?: Record<string, string>
}

/** Gatehouse as a separate process on loopback, controlled only by its environment, signals and HTTP. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly rootToken: string
  /** Time from the start of the process to the first 200 of `/health/ready`. */
  readonly readyAfterMs: number
  /** Sends the signal, SIGTERM by default; resolves when the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>
}

const sourceFolder = join(import.meta.dirname, '..')
/** What `npm start` sets. */
const startScriptFlags = ['--disable-sigusr1', '--heap-growing-percent=80']
const startScriptSettings = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '24576',
  NODE_COMPILE_CACHE: join(sourceFolder, 'node_modules/.cache/gatehouse'),
  UV_THREADPOOL_SIZE: '16',
}
const startLimitMs = 60_000
const pollEveryMs = 2

/**
 * Starts the server on a port that the system chooses and waits until it is ready. Rejects with the end of
 * its log if it ends before that. The address is read from the log: if this process chose the port, another
 * program could take it first.
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { folder, entry = join(sourceFolder, 'release/start.ts'), executable } = options
  const startedAt = performance.now()
  const [program, flags, settings] =
    executable === undefined
      ? [process.execPath, [...startScriptFlags, entry], startScriptSettings]
      : [executable, [], {}]
  const child = spawn(program, flags, {
    cwd: sourceFolder,
    env: {
      ...settings,
      ...environmentOf(folder),
      ...options.environment,
      GATEHOUSE_LISTEN: '127.0.0.1:0',
      GATEHOUSE_LOG_LEVEL: 'info',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  killOnExit(child)
  const ended = once(child, 'close')
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    await ended
  }
  const log = readLog(child.stderr)
  const limit = setTimeout(() => child.kill('SIGKILL'), startLimitMs)
  try {
    const url = await Promise.race([
      log.address,
      ended.then(([code, signal]) => Promise.reject(new Error(`the process ended: ${code ?? signal}`))),
    ])
    await waitUntilReady(child, url)
    const readyAfterMs = performance.now() - startedAt
    const rootToken = (await readFile(join(folder, 'root-token'), 'utf8')).trim()
    return {
      url,
      port: Number(new URL(url).port),
      pid: pidOf(child),
      rootToken,
      readyAfterMs,
      stop,
      ended: ended.then(() => {}),
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop('SIGKILL')
    throw new Error(`the server did not start:\n${log.end()}`, { cause: error })
  } finally {
    clearTimeout(limit)
  }
}

function environmentOf(folder: string): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:GATEHOUSE_|CLOUD_|HTTPS_PROXY$)/.test(name),
  )
  return {
    ...Object.fromEntries(inherited),
    GATEHOUSE_STORAGE: `sqlite:${join(folder, 'gatehouse.db')}`,
    GATEHOUSE_SEAL_KEY_FILE: join(folder, 'seal.key'),
    GATEHOUSE_ROOT_TOKEN_FILE: join(folder, 'root-token'),
  }
}

async function waitUntilReady(child: ChildProcess, url: string): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const status = await fetch(`${url}/health/ready`).then(
      async (response) => {
        await response.body?.cancel()
        return response.status
      },
      () => 0,
    )
    if (status === 200) return
    await wait(pollEveryMs)
  }
  throw new Error('the process ended')
}

const startedLine = /"event":"started".*?"address":"([^"]+)"/

/**
 * Reads the log continuously, so that the pipe never fills; keeps its last 4,000 characters and the address.
 */
function readLog(stderr: Readable): { end(): string; address: Promise<string> } {
  let end = ''
  const { promise: address, resolve } = Promise.withResolvers<string>()
  createInterface({ input: stderr }).on('line', (line) => {
    end = `${end}${line}\n`.slice(-4000)
    const [, url] = startedLine.exec(line) ?? []
    if (url !== undefined) resolve(url)
  })
  return { end: () => end, address }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the server was not started')
  return child.pid
}
