import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { programFile } from './bundled.ts'
import { Client } from './client.ts'

/**
 * The flags of `npm start`. Cached compiled code is valid only for these flags: with others, a start takes
 * twice the CPU time, and its end invalidates the cache for the next one.
 */
export const startScriptFlags = ['--disable-sigusr1', '--heap-growing-percent=80']

/** Processes that a failed test leaves are killed, but none that a test on a busy machine still uses. */
const longestRunMs = 180_000

/** How a process ended, and all its output. */
export type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type ProcessOptions = {
  /** The process's `data/`: database, seal key and everything else it creates. */
  folder: string
  /** Settings without their `GATEHOUSE_`. */
  settings?: Record<string, string>
  args?: readonly string[]
  /** Its standard input. */
  input?: string
  /** A file with more settings, as `npm start` reads `.env`. */
  settingsFile?: string
  /** Other environment variables. */
  environment?: Record<string, string>
}

/** The server as a separate process that is listening. */
export type ServerProcess = AsyncDisposable & {
  readonly url: string
  readonly pid: number
  readonly anonymous: Client
  readonly stdout: string
  readonly stderr: string
  /** The token it printed. */
  readonly rootToken: string
  as(token: string): Client
  /** Resolves when `text` appears in the log. */
  logged(text: string): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Stops reading its standard output from now on. */
  ignoreOutput(): void
  /** Resolves when the process has ended. */
  readonly ended: Promise<Outcome>
  /** Sends a signal, SIGTERM by default, and resolves when the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<Outcome>
}

/** Starts the server on a free port and waits until it listens; rejects with its output if it ends before. */
export async function startProcess(options: ProcessOptions): Promise<ServerProcess> {
  const child = new StartedProcess('src/process/main.ts', options)
  await child.logged('listening on ')
  // its earlier output is in the other pipe, which a whole turn of the event loop reads
  for (let turn = 0; turn < 2; turn++) await nextTurn()
  const url = /listening on (https?:\/\/[^\s",]+)/.exec(child.stderr)?.[1] ?? ''
  const anonymous = new Client(url)
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => child.end(signal)
  return {
    url,
    pid: child.pid,
    anonymous,
    get stdout() {
      return child.stdout
    },
    get stderr() {
      return child.stderr
    },
    get rootToken() {
      return /^Root token: (\S+)$/m.exec(child.stdout)?.[1] ?? ''
    },
    as: (token) => anonymous.with(token),
    logged: (text) => child.logged(text),
    signal: (name) => child.signal(name),
    ignoreOutput: () => child.ignoreOutput(),
    ended: child.ended,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')),
  }
}

/** Runs a program of this project to its end. */
export const runProcess = (program: string, options: ProcessOptions): Promise<Outcome> =>
  new StartedProcess(program, options).ended

/** Runs a command of this project, such as `backup`, to its end. */
export const runCommand = (name: string, { args = [], ...options }: ProcessOptions): Promise<Outcome> =>
  runProcess('src/process/main.ts', { ...options, args: [name, ...args] })

/** Runs a server that is expected to refuse its start. */
export const runServer = (options: ProcessOptions): Promise<Outcome> =>
  runProcess('src/process/main.ts', options)

/** A process of this project from its start on. */
export class StartedProcess {
  stdout = ''
  stderr = ''
  readonly ended: Promise<Outcome>
  readonly #child: ChildProcess
  #isGone = false

  constructor(program: string, { folder, settings = {}, args = [], ...more }: ProcessOptions) {
    const { settingsFile, environment = {}, input } = more
    const flags = settingsFile === undefined ? [] : [`--env-file=${settingsFile}`]
    const inherited = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('GATEHOUSE_') && !name.startsWith('VITEST'),
    )
    const own = Object.entries({ LISTEN: '127.0.0.1:0', ...settings }).map(
      ([name, value]) => [`GATEHOUSE_${name}`, value] as const,
    )
    this.#child = spawn(process.execPath, [...flags, ...startScriptFlags, programFile(program), ...args], {
      cwd: folder,
      env: { ...Object.fromEntries([...inherited, ...own]), ...environment },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      timeout: longestRunMs,
      killSignal: 'SIGKILL',
    })
    this.#child.stdin?.end(input)
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.ended = once(this.#child, 'close').then(([code]) => {
      this.#isGone = true
      return { code: typeof code === 'number' ? code : null, stdout: this.stdout, stderr: this.stderr }
    })
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the process was not started')
    return this.#child.pid
  }

  async logged(text: string): Promise<void> {
    while (!this.stderr.includes(text)) {
      if (this.#isGone)
        throw new Error(`the process ended before it said "${text}":\n${this.stdout}${this.stderr}`)
      await Promise.race([once(this.#child.stderr ?? this.#child, 'data'), this.ended])
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  ignoreOutput(): void {
    this.#child.stdout?.pause()
  }

  end(signal: NodeJS.Signals): Promise<Outcome> {
    if (!this.#isGone) this.signal(signal)
    return this.ended
  }
}
