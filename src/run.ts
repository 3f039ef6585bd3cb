import { type Config, readConfig, SettingError } from './config.ts'
import { StartError } from './errors.ts'
import { systemCode, writePrivateFile } from './lib/private-file.ts'
import { type Log, openLog } from './log.ts'
import { returnMemoryWhenIdle } from './memory-return.ts'
import type { RootTokenTeller, Server } from './server.ts'
import { gatehouseVersion } from './version.ts'

const exitCodes = { bug: 1, setting: 2, stopTimeout: 6 } as const

/** The server's process: settings from the environment, one server, a signal, an orderly end. Exit codes: contract operations §1. */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const config = configOf(args, environment)
  if (config === undefined) return
  const log = await openLog(config)
  // loaded once the settings are known to be usable: a wrong one is told at once
  const { startServer } = await import('./server.ts')
  const stopping = new AbortController()
  // npm sends a second one after Ctrl-C: it must not cut off what the first one lets finish
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())
  // by itself it would end the process in the middle of its requests, under `nohup` too: Node.js takes back that it is ignored
  process.on('SIGHUP', () => (config.dev ? stopping.abort() : log.info({ event: 'hangup' }, 'SIGHUP: nothing is read anew before a restart')))
  try {
    const server = await startServer(config, { log, rootToken: rootTokenTeller(config) })
    if (config.dev) process.stderr.write('Development mode: everything here is for trying out, do not use it in production.\n')
    returnMemoryWhenIdle()
    log.info(
      { event: 'started', address: server.url, version: gatehouseVersion, reported_version: config.reportedVersion },
      `Gatehouse ${gatehouseVersion} is listening on ${server.url}`,
    )
    await aborted(stopping.signal)
    await stop(server, config, log)
  } catch (error) {
    process.exitCode = error instanceof StartError ? error.exitCode : exitCodes.bug
    // what an operator can mend is one line; of the rest the log has the causes
    if (process.exitCode === exitCodes.bug) log.fatal({ err: error }, 'the server failed')
    if (error instanceof StartError) process.stderr.write(`${error.message}\n`)
  }
}

function configOf(args: readonly string[], environment: NodeJS.ProcessEnv): Config | undefined {
  const unknown = args.find((arg) => arg !== '--dev')
  try {
    if (unknown !== undefined) throw new SettingError(`unknown argument ${unknown}`)
    return readConfig(environment, { dev: args.includes('--dev'), warn: (text) => process.stderr.write(`warning: ${text}\n`) })
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = exitCodes.setting
    return undefined
  }
}

/** What becomes of the first root token: kept in its file before it is valid, told once on standard output when it is. */
function rootTokenTeller({ rootTokenFile }: Config): RootTokenTeller {
  if (rootTokenFile === undefined) return { keep: () => {}, tell: (token) => process.stdout.write(`Root token: ${token}\n`) }
  return {
    keep: (token) => {
      try {
        writePrivateFile(rootTokenFile, `${token}\n`)
      } catch (cause) {
        throw new StartError(exitCodes.setting, `GATEHOUSE_ROOT_TOKEN_FILE: cannot write ${rootTokenFile}: ${systemCode(cause)}`, { cause })
      }
    },
    tell: () => process.stdout.write(`Root token written to ${rootTokenFile}\n`),
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })))

/** Not ready at once, a pause for load balancers, then the end; past the limit the process is ended. Contract operations §5. */
async function stop(server: Server, config: Config, log: Log): Promise<void> {
  log.info({ event: 'stopping' }, 'stopping')
  const limit = setTimeout(() => {
    log.error({ event: 'stopping' }, 'requests still running at the end of GATEHOUSE_STOP_TIMEOUT')
    process.exit(exitCodes.stopTimeout)
  }, config.drainDelayMs + config.stopTimeoutMs)
  await server.drain(config.drainDelayMs)
  await server[Symbol.asyncDispose]()
  clearTimeout(limit)
}
