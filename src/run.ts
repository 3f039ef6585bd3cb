import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Config, logSettings, readConfig, SettingError } from './config.ts'
import { StartError } from './errors.ts'
import { endProcess } from './lib/end-process.ts'
import { systemCode, writePrivateFile } from './lib/private-file.ts'
import { systemRandom } from './lib/random.ts'
import { closeLog, type Log, openLog } from './log.ts'
import { returnMemoryWhenIdle } from './memory-return.ts'
import type { Server, ServerParts, startServer } from './server.ts'
import { gatehouseVersion } from './version.ts'

const exitCodes = { bug: 1, setting: 2, stopTimeout: 6 } as const

/** Time limit for writing the last lines of the log. */
const closeLogMs = 250
const checkParentMs = 500

/** Runs the server until a signal stops it, and exits the process. Exit codes: docs/operations.md */
export async function run(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stopping: AbortController,
): Promise<void> {
  const log = await openLog(logSettings(environment, isDev(args)))
  logProcessWarnings(log)
  await runWith(log, args, environment, stopping)
  await closeLog(log, closeLogMs)
  // exit explicitly: a blocked log line would keep the process alive, and a signal during Node's cleanup
  // would change the exit status
  endProcess()
}

async function runWith(
  log: Log,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stopping: AbortController,
): Promise<void> {
  const config = configOf(args, environment, log)
  if (config === undefined) return
  handleStopRequests(stopping, config, environment, log)
  try {
    // load the server after the settings are validated, so that an invalid one is reported at once
    const { startServer } = await import('./server.ts')
    // let a pending signal arrive
    await nextTurn()
    if (!stopping.signal.aborted) await serve(startServer, config, log, stopping.signal)
    log.info({ event: 'stopped', exit_code: 0 }, 'stopped')
  } catch (error) {
    const code = error instanceof StartError ? error.exitCode : exitCodes.bug
    process.exitCode = code
    // the message of a StartError suffices; log causes of bugs only
    const cause = code === exitCodes.bug ? { err: error } : {}
    log.fatal(
      { event: 'stopped', exit_code: code, ...cause },
      error instanceof StartError ? error.message : 'the server failed',
    )
  }
}

/** Runs one server until `stopping` is aborted. */
async function serve(
  start: typeof startServer,
  config: Config,
  log: Log,
  stopping: AbortSignal,
): Promise<void> {
  const server = await start(config, { log, rootToken: rootTokenTeller(config) })
  if (config.dev) log.warn('development mode: do not use it in production')
  returnMemoryWhenIdle()
  process.on('SIGHUP', () => void server.reopenAudit())
  log.info(
    {
      event: 'started',
      address: server.url,
      version: gatehouseVersion,
      reported_version: config.reportedVersion,
    },
    `Gatehouse ${gatehouseVersion} is listening on ${server.url}`,
  )
  await aborted(stopping)
  await stop(server, config)
}

/**
 * Handles requests to stop the process, which then exits within DRAIN_DELAY plus STOP_TIMEOUT in any case.
 */
function handleStopRequests(
  stopping: AbortController,
  config: Config,
  environment: NodeJS.ProcessEnv,
  log: Log,
): void {
  // npm sends a second signal after Ctrl-C; it must not cut off the requests in progress
  void aborted(stopping.signal).then(() => {
    log.info({ event: 'stopping' }, 'stopping')
    setTimeout(
      () => void exitNow(log, exitCodes.stopTimeout),
      config.drainDelayMs + config.stopTimeoutMs,
    ).unref()
  })
  const stop = () => stopping.abort()
  // the machine may have been cloned while the process was stopped
  process.on('SIGCONT', () => systemRandom.discard())
  // without a handler SIGHUP would kill the process, even under `nohup`: Node.js resets ignored signals
  process.on('SIGHUP', () =>
    config.dev
      ? stop()
      : log.info({ event: 'hangup' }, 'SIGHUP reopens audit files; settings are read only at start'),
  )
  // npm forwards only SIGTERM and SIGINT; any other signal ends npm, and this process would be orphaned
  const npm = environment['NPM_PID']
  if (npm !== undefined) whenOrphaned(Number(npm), stop)
}

/** Calls `stop` once the parent is no longer `parent`, the parent's process id when bin/gatehouse started. */
function whenOrphaned(parent: number, stop: () => void): void {
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, checkParentMs).unref()
}

/** Exits without waiting for requests and connections, after a short time for the last log lines. */
async function exitNow(log: Log, code: number): Promise<void> {
  process.exitCode = code
  if (code === exitCodes.stopTimeout)
    log.error(
      { event: 'stopped', exit_code: code },
      'requests were still running after GATEHOUSE_STOP_TIMEOUT',
    )
  await closeLog(log, closeLogMs)
  endProcess()
}

const isDev = (args: readonly string[]): boolean => args.includes('--dev')

/** Logs warnings and uncaught exceptions, which Node.js would print as plain text between the JSON lines. */
function logProcessWarnings(log: Log): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) =>
    log.warn({ event: 'runtime_warning', type: warning.name }, warning.message),
  )
  process.on('uncaughtException', (error) => {
    log.fatal({ event: 'stopped', exit_code: exitCodes.bug, err: error }, 'the server failed')
    void exitNow(log, exitCodes.bug)
  })
}

function configOf(args: readonly string[], environment: NodeJS.ProcessEnv, log: Log): Config | undefined {
  const unknown = args.find((arg) => arg !== '--dev')
  try {
    if (unknown !== undefined) throw new SettingError(`unknown argument ${unknown}`)
    const warnings: string[] = []
    const config = readConfig(environment, { dev: isDev(args), warn: (text) => warnings.push(text) })
    log.level = config.logLevel
    for (const text of warnings) log.warn({ event: 'setting_unknown' }, text)
    return config
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    log.fatal({ event: 'stopped', exit_code: exitCodes.setting }, error.message)
    process.exitCode = exitCodes.setting
    return undefined
  }
}

/** Delivers the first root token: to its file before it becomes valid, or to standard output afterwards. */
function rootTokenTeller({ rootTokenFile }: Config): ServerParts['rootToken'] {
  if (rootTokenFile === undefined)
    return { check: checkStandardOutput, keep: () => {}, tell: (token) => print(`Root token: ${token}\n`) }
  return {
    check: () => {},
    keep: (token) => {
      try {
        writePrivateFile(rootTokenFile, `${token}\n`)
      } catch (cause) {
        throw new StartError(
          exitCodes.setting,
          `GATEHOUSE_ROOT_TOKEN_FILE: cannot write ${rootTokenFile}: ${systemCode(cause)}`,
          { cause },
        )
      }
    },
    tell: () => void process.stdout.write(`Root token written to ${rootTokenFile}\n`),
  }
}

/**
 * Refuses a closed standard output, which Node.js replaces with /dev/null: printed text would be lost without
 * an error.
 */
function checkStandardOutput(): void {
  const output = fstatSync(1)
  const isDiscarded = output.isCharacterDevice() && output.rdev === statSync(devNull).rdev
  if (isDiscarded) throw cannotPrint('standard output is closed or /dev/null', undefined)
}

function print(text: string): Promise<void> {
  return new Promise((settle, reject) => {
    const failed = (cause: Error) => reject(cannotPrint(`standard output: ${systemCode(cause)}`, cause))
    process.stdout.once('error', failed)
    process.stdout.write(text, (cause) => (cause instanceof Error ? failed(cause) : settle()))
  })
}

const cannotPrint = (reason: string, cause: unknown) =>
  new StartError(
    exitCodes.setting,
    `cannot print the root token (${reason}); nothing is lost: restart with standard output open, or set GATEHOUSE_ROOT_TOKEN_FILE`,
    { cause },
  )

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  )

/** Reports not ready, waits for load balancers, then stops. */
async function stop(server: Server, config: Config): Promise<void> {
  await server.drain(config.drainDelayMs)
  await server[Symbol.asyncDispose]()
}
