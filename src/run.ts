import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Config, logSettings, readConfig, SettingError } from './config.ts'
import { StartError } from './errors.ts'
import { systemCode, writePrivateFile } from './lib/private-file.ts'
import { systemRandom } from './lib/random.ts'
import { closeLog, type Log, openLog } from './log.ts'
import { returnMemoryWhenIdle } from './memory-return.ts'
import type { RootTokenTeller, Server, startServer } from './server.ts'
import { gatehouseVersion } from './version.ts'

const exitCodes = { bug: 1, setting: 2, stopTimeout: 6 } as const

/** How long the last lines of the log may take. */
const logEndMs = 250
const lookForParentMs = 500

/** The server's process: settings from the environment, one server, a signal, an orderly end. Its exit codes are in docs/operations.md */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv, stopping: AbortController): Promise<void> {
  const log = await openLog(logSettings(environment, isDev(args)))
  logWhatNodeWouldPrint(log)
  await runWith(log, args, environment, stopping)
  await closeLog(log, logEndMs)
  // a line that nobody reads would keep the process alive, and a signal that comes while Node.js tidies up would count as the end
  process.exit()
}

async function runWith(log: Log, args: readonly string[], environment: NodeJS.ProcessEnv, stopping: AbortController): Promise<void> {
  const config = configOf(args, environment, log)
  if (config === undefined) return
  whenToStop(stopping, config, environment, log)
  try {
    // loaded once the settings are known to be usable: a wrong one is told at once
    const { startServer } = await import('./server.ts')
    // a signal that came meanwhile is noticed here
    await nextTurn()
    if (!stopping.signal.aborted) await serve(startServer, config, log, stopping.signal)
    log.info({ event: 'stopped', exit_code: 0 }, 'stopped')
  } catch (error) {
    const code = error instanceof StartError ? error.exitCode : exitCodes.bug
    process.exitCode = code
    // an operator can fix what one line says; a bug needs its cause
    const cause = code === exitCodes.bug ? { err: error } : {}
    log.fatal({ event: 'stopped', exit_code: code, ...cause }, error instanceof StartError ? error.message : 'the server failed')
  }
}

/** One server, until it is asked to stop. */
async function serve(start: typeof startServer, config: Config, log: Log, stopping: AbortSignal): Promise<void> {
  const server = await start(config, { log, rootToken: rootTokenTeller(config) })
  if (config.dev) log.warn('Development mode: everything here is for trying out, do not use it in production.')
  returnMemoryWhenIdle()
  log.info(
    { event: 'started', address: server.url, version: gatehouseVersion, reported_version: config.reportedVersion },
    `Gatehouse ${gatehouseVersion} is listening on ${server.url}`,
  )
  await aborted(stopping)
  await stop(server, config)
}

/** Listens for what asks the process to stop. From then on it ends within DRAIN_DELAY and STOP_TIMEOUT, whatever it is waiting for. */
function whenToStop(stopping: AbortController, config: Config, environment: NodeJS.ProcessEnv, log: Log): void {
  // npm sends a second signal after Ctrl-C: it must not cut off what the first one lets finish
  void aborted(stopping.signal).then(() => {
    log.info({ event: 'stopping' }, 'stopping')
    setTimeout(() => void endNow(log, exitCodes.stopTimeout), config.drainDelayMs + config.stopTimeoutMs).unref()
  })
  const stop = () => stopping.abort()
  // the machine may have been copied while the process stood still
  process.on('SIGCONT', () => systemRandom.discard())
  // by itself it would end the process in the middle of its requests, under `nohup` too: Node.js takes back that it is ignored
  process.on('SIGHUP', () => (config.dev ? stop() : log.info({ event: 'hangup' }, 'SIGHUP: nothing is read anew before a restart')))
  // npm passes on SIGTERM and SIGINT only, and ends of any other signal: nobody would be left to stop this process
  const npm = environment['NPM_PID']
  if (npm !== undefined) whenOrphaned(Number(npm), stop)
}

/** `parent` was there when bin/gatehouse began, and may be gone by now. */
function whenOrphaned(parent: number, tell: () => void): void {
  const looking = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(looking)
    tell()
  }, lookForParentMs).unref()
}

/** The last resort: requests, connections and lines of the log that are still waiting are dropped. */
async function endNow(log: Log, code: number): Promise<void> {
  process.exitCode = code
  if (code === exitCodes.stopTimeout) log.error({ event: 'stopped', exit_code: code }, 'requests still running at the end of GATEHOUSE_STOP_TIMEOUT')
  await closeLog(log, logEndMs)
  process.exit()
}

const isDev = (args: readonly string[]): boolean => args.includes('--dev')

/** Node prints warnings and the exception that ends the process as plain text, which no reader of a JSON log expects. */
function logWhatNodeWouldPrint(log: Log): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ event: 'runtime_warning', type: warning.name }, warning.message))
  process.on('uncaughtException', (error) => {
    log.fatal({ event: 'stopped', exit_code: exitCodes.bug, err: error }, 'the server failed')
    void endNow(log, exitCodes.bug)
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

/** What becomes of the first root token: kept in its file before it is valid, told once on standard output when it is. */
function rootTokenTeller({ rootTokenFile }: Config): RootTokenTeller {
  if (rootTokenFile === undefined) return { check: checkStandardOutput, keep: () => {}, tell: (token) => print(`Root token: ${token}\n`) }
  return {
    check: () => {},
    keep: (token) => {
      try {
        writePrivateFile(rootTokenFile, `${token}\n`)
      } catch (cause) {
        throw new StartError(exitCodes.setting, `GATEHOUSE_ROOT_TOKEN_FILE: cannot write ${rootTokenFile}: ${systemCode(cause)}`, { cause })
      }
    },
    tell: () => void process.stdout.write(`Root token written to ${rootTokenFile}\n`),
  }
}

/** Node.js puts /dev/null in the place of a closed standard output: what is printed there is gone, and no error says so. */
function checkStandardOutput(): void {
  const output = fstatSync(1)
  const isNowhere = output.isCharacterDevice() && output.rdev === statSync(devNull).rdev
  if (isNowhere) throw nowhere('standard output is closed or /dev/null', undefined)
}

function print(text: string): Promise<void> {
  return new Promise((settle, reject) => {
    const failed = (cause: Error) => reject(nowhere(`standard output: ${systemCode(cause)}`, cause))
    process.stdout.once('error', failed)
    process.stdout.write(text, (cause) => (cause instanceof Error ? failed(cause) : settle()))
  })
}

const nowhere = (why: string, cause: unknown) =>
  new StartError(
    exitCodes.setting,
    `cannot print the root token (${why}); nothing is lost: start again with an output, or set GATEHOUSE_ROOT_TOKEN_FILE`,
    { cause },
  )

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })))

/** Not ready at once, a pause for load balancers, then the end. */
async function stop(server: Server, config: Config): Promise<void> {
  await server.drain(config.drainDelayMs)
  await server[Symbol.asyncDispose]()
}
