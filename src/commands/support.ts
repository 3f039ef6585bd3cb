import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { arch, platform, release, totalmem } from 'node:os'
import { gzipSync } from 'node:zlib'
import type { Config } from '../config/settings.ts'
import { secretValues, shownSettings } from '../config/shown.ts'
import { systemReason } from '../lib/system/private-file.ts'
import { lastBackup } from '../storage/copies/last-backup.ts'
import { gatehouseVersion } from '../version.ts'
import { type Command, CommandError, orFail, parsedArguments, UsageError } from './command.ts'
import { apiAddress, askOwnServer } from './own-server.ts'
import { settingsOf } from './stored-database.ts'

/** What the server says to everybody, and what only to a token that may read it. */
const openPaths = ['/health/live', '/health/ready', '/v1/sys/health', '/v1/sys/seal-status', '/v1/sys/leader']
const tokenPaths = [
  ...['/v1/sys/ha-status', '/v1/sys/version-history?list=true', '/v1/sys/key-status', '/v1/sys/host-info'],
  ...['/v1/sys/in-flight-req', '/v1/sys/loggers', '/v1/sys/metrics?format=prometheus'],
  '/v1/sys/monitor?recent=true&log_format=json',
]
const answerMs = 5_000
const maxLogBytes = 1 << 20

/**
 * `gatehouse support --out FILE [--log FILE]` collects what others must know to help: what the server with the same
 * settings says of itself, settings without secrets, metrics and recent lines of the log. docs/monitoring.md#support
 */
export const support: Command = async (args) => {
  const { file, log } = readArguments(args)
  const { env: environment } = process
  const config = settingsOf(environment)
  const report = {
    made: new Date().toISOString(),
    gatehouse: gatehouseVersion,
    node: process.version,
    system: { platform: platform(), release: release(), arch: arch(), memory: totalmem() },
    settings: shownSettings(environment),
    storage: await storageState(config),
    server: await serverState(config, environment['VAULT_TOKEN']),
    ...(log === undefined ? {} : { log: orFail(`cannot read ${log}`, () => endOf(log)) }),
  }
  const secrets = [...secretValues(environment), environment['VAULT_TOKEN'] ?? '']
  const text = withoutSecrets(`${JSON.stringify(report, null, 1)}\n`, secrets)
  try {
    await writeFile(file, gzipSync(text), { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${systemReason(cause)}`, { cause })
  }
  process.stdout.write(`${file}: read it before you send it: gunzip -c ${file}\n`)
}

/** The file may stand alone: `support FILE`. */
function readArguments(args: string[]): { file: string; log: string | undefined } {
  const options = { out: { type: 'string' }, log: { type: 'string' } } as const
  const { values, positionals } = parsedArguments({ args, allowPositionals: true, options })
  const [file, ...more] = [values.out ?? [], positionals].flat()
  if (file === undefined || more.length > 0) throw new UsageError()
  return { file, log: values.log }
}

async function serverState(config: Config, token: string | undefined): Promise<Record<string, unknown>> {
  const paths = token === undefined ? openPaths : [...openPaths, ...tokenPaths]
  const answers: Record<string, unknown> = {}
  for (const path of paths) answers[path] = await answerOf(config, path, token)
  return answers
}

async function answerOf(config: Config, path: string, token: string | undefined): Promise<object> {
  try {
    const request = { path, token, waitMs: answerMs, certificate: config.tlsCertFile }
    const { status, body } = await askOwnServer(apiAddress(config), request)
    return { status, body: body.split('\n') }
  } catch (error) {
    if (error instanceof CommandError) return { error: error.message }
    throw error
  }
}

async function storageState({ storage }: Config): Promise<object> {
  if (storage.kind !== 'sqlite') return { kind: storage.kind }
  const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size ?? null
  const backup = lastBackup(storage.path)
  return {
    kind: storage.kind,
    bytes: await sizeOf(storage.path),
    log_bytes: await sizeOf(`${storage.path}-wal`),
    last_backup: backup === undefined ? null : new Date(backup).toISOString(),
  }
}

function endOf(path: string): string[] {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const from = Math.max(0, size - maxLogBytes)
    const bytes = Buffer.alloc(size - from)
    const lines = bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, from)).split('\n')
    return from === 0 ? lines : lines.slice(1)
  } finally {
    closeSync(file)
  }
}

/** None should be there: settings are listed without them, and log and metrics have none. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets)
    if (secret.length >= 4) clean = clean.replaceAll(JSON.stringify(secret).slice(1, -1), '(secret)')
  return clean
}
