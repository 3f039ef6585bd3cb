import { spawn } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { logSettings, readConfig, rereadConfig } from '../config/config.ts'
import { workerCount } from '../config/connections.ts'
import { SettingError } from '../config/setting.ts'
import type { Config } from '../config/settings.ts'
import { StartError } from '../errors.ts'
import { untilAborted } from '../lib/concurrency/wait.ts'
import { systemRandom } from '../lib/system/random.ts'
import { changeLogLevel, type Log, logLevelsOf, openLog } from '../log/log.ts'
import { gatehouseVersion } from '../version.ts'
import { exitCodes, exitNow, limitStop, logProcessWarnings } from './exit.ts'
import { rootTokenTeller } from './root-token-teller.ts'
import { settingsFileOf } from './settings-file.ts'

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
  await exitNow(log)
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
    const serveHere = workerCount(config) === 1
    const reread = settingsReader(config, environment, log)
    const code = await (serveHere ? serve : serveWithWorkers)(config, reread, log, stopping.signal)
    process.exitCode = code
    log.info({ event: 'stopped', exit_code: code }, 'stopped')
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

/** Runs one server in this process until `stopping` is aborted. Resolves with the exit code. */
async function serve(config: Config, reread: () => Config, log: Log, stopping: AbortSignal): Promise<number> {
  const { startServer } = await import('../server/server.ts')
  // let a pending signal arrive
  await nextTurn()
  if (stopping.aborted) return 0
  const starting = startServer(config, { log, rootToken: rootTokenTeller(config), stopping })
  const server = await starting.catch((error: unknown) => {
    if (stopping.aborted && error instanceof Error && error.name === 'AbortError') return undefined
    throw error
  })
  if (server === undefined) return 0
  if (config.dev) log.warn({ event: 'development' }, 'development mode: do not use it in production')
  process.on('SIGHUP', () => void server.reload(reread()))
  announceStart(log, server.urls, config)
  await untilAborted(stopping)
  // reports not ready, waits for load balancers, then stops
  await server.drain(config.drainDelayMs)
  await server[Symbol.asyncDispose]()
  return 0
}

/** Runs processes that share the listener until `stopping` is aborted. Resolves with the exit code. */
async function serveWithWorkers(
  config: Config,
  reread: () => Config,
  log: Log,
  stopping: AbortSignal,
): Promise<number> {
  const { openSupervisor } = await import('./supervisor.ts')
  await nextTurn()
  if (stopping.aborted) return 0
  await using opened = await openSupervisor(config, log)
  const { supervisor } = opened
  process.on('SIGHUP', () => supervisor.reload(reread()))
  process.on('SIGCONT', () => supervisor.signal('SIGCONT'))
  const stopped = untilAborted(stopping)
  let code = 0
  try {
    await Promise.race([stopped, supervisor.start()])
    if (!stopping.aborted) announceStart(log, supervisor.urls, config)
    await Promise.race([stopped, supervisor.failed])
  } finally {
    code = await supervisor.stop()
  }
  return code
}

/**
 * Returns a function that reads again the settings that may change while the server runs. Invalid ones change
 * nothing, and are logged. docs/settings.md#change-settings-without-a-restart
 */
function settingsReader(config: Config, environment: NodeJS.ProcessEnv, log: Log): () => Config {
  const file = settingsFileOf(process.execArgv, environment)
  let current = config
  return () => {
    if (file === undefined) return current
    try {
      current = rereadConfig(current, file.read())
      changeLogLevel(log, current.logLevel)
    } catch (error) {
      const reason = error instanceof SettingError ? error.message : 'the settings file cannot be read'
      log.error({ event: 'reload_failed', reason }, `the former settings stay in use: ${reason}`)
    }
    return current
  }
}

function announceStart(log: Log, addresses: readonly string[], { reportedVersion }: Config): void {
  log.info(
    {
      event: 'started',
      address: addresses.join(', '),
      version: gatehouseVersion,
      reported_version: reportedVersion,
    },
    `Gatehouse ${gatehouseVersion} is listening on ${addresses.join(', ')}`,
  )
  tellReady(process.env, log)
}

/** Handles requests to stop the process, which then exits within DRAIN_DELAY plus STOP_TIMEOUT in any case. */
function handleStopRequests(
  stopping: AbortController,
  config: Config,
  environment: NodeJS.ProcessEnv,
  log: Log,
): void {
  // npm sends a second signal after Ctrl-C; it must not cut off the requests in progress
  void untilAborted(stopping.signal).then(() => {
    log.info({ event: 'stopping' }, 'stopping')
    limitStop(config.drainDelayMs + config.stopTimeoutMs, log)
  })
  const stop = () => stopping.abort()
  // the machine may have been cloned while the process was stopped
  process.on('SIGCONT', () => systemRandom.discard())
  // without a handler SIGHUP would kill the process, even under `nohup`: Node.js resets ignored signals
  process.on('SIGHUP', () =>
    config.dev
      ? stop()
      : log.info(
          { event: 'hangup' },
          'SIGHUP reopens audit files, and reads certificates, custom headers and the log level again',
        ),
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

const isDev = (args: readonly string[]): boolean => args.includes('--dev')

function configOf(args: readonly string[], environment: NodeJS.ProcessEnv, log: Log): Config | undefined {
  const unknown = args.find((arg) => arg !== '--dev')
  try {
    if (unknown !== undefined) throw new SettingError(`unknown argument ${unknown}`)
    const warnings: string[] = []
    const config = readConfig(environment, { dev: isDev(args), warn: (text) => warnings.push(text) })
    logLevelsOf(log).configure(config.logLevel)
    for (const text of warnings) log.warn({ event: 'setting_unknown' }, text)
    return config
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    log.fatal({ event: 'stopped', exit_code: exitCodes.setting }, error.message)
    process.exitCode = exitCodes.setting
    return undefined
  }
}

/**
 * Tells systemd that this process is ready, if it is a service of `Type=notify`. Node.js has no sockets for
 * datagrams between processes, so systemd's own program sends it. docs/deployment.md#systemd
 */
function tellReady(environment: NodeJS.ProcessEnv, log: Log): void {
  if (environment['NOTIFY_SOCKET'] === undefined) return
  const failed = (reason: object) =>
    log.error({ event: 'notify_failed', ...reason }, 'systemd-notify could not say that the server is ready')
  spawn('systemd-notify', ['--ready'], { env: environment, stdio: 'ignore' })
    .on('error', (err) => failed({ err }))
    .on('exit', (code) => (code === 0 ? undefined : failed({ exit_code: code })))
    .unref()
}
