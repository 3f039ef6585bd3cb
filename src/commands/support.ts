import { openSync, readFileSync, readSync, closeSync, fstatSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { arch, platform, release, totalmem } from 'node:os'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type Config, secretValues, shownSettings } from '../config.ts'
import { systemCode } from '../lib/private-file.ts'
import { lastBackup } from '../storage/last-backup.ts'
import { gatehouseVersion } from '../version.ts'
import { type Command, CommandError, UsageError } from './command.ts'
import { settingsOf } from './stored-database.ts'

/** What the server says to everybody, and what only to a token that may read it. */
const openPaths = ['/health/live', '/health/ready', '/v1/sys/health', '/v1/sys/seal-status', '/v1/sys/leader']
const tokenPaths = [
  ...['/v1/sys/ha-status', '/v1/sys/version-history?list=true', '/v1/sys/key-status', '/v1/sys/host-info'],
  ...['/v1/sys/in-flight-req', '/v1/sys/loggers', '/v1/sys/metrics?format=prometheus'],
  '/v1/sys/monitor?recent=true&log_format=json',
]
const defaultAddress = 'http://127.0.0.1:8200'
const answerMs = 5_000
const maxLogBytes = 1 << 20

/**
 * `gatehouse support FILE [--log FILE]` collects what others must know to help: state of the server, settings
 * without secrets, metrics and recent lines of the log. docs/monitoring.md#support
 */
export const support: Command = async (args) => {
  const { values, positionals } = parsed(args)
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw new UsageError()
  const { env: environment } = process
  const config = settingsOf(environment)
  const report = {
    made: new Date().toISOString(),
    gatehouse: gatehouseVersion,
    node: process.version,
    system: { platform: platform(), release: release(), arch: arch(), memory: totalmem() },
    settings: shownSettings(environment),
    storage: await storageState(config),
    server: await serverState(environment),
    ...(values.log === undefined ? {} : { log: endOf(values.log) }),
  }
  const secrets = [...secretValues(environment), environment['VAULT_TOKEN'] ?? '']
  const text = withoutSecrets(`${JSON.stringify(report, null, 1)}\n`, secrets)
  try {
    await writeFile(file, gzipSync(text), { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${systemCode(cause)}`, { cause })
  }
  process.stdout.write(`${file}: read it before you send it: gunzip -c ${file}\n`)
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { log: { type: 'string' } } })
  } catch (cause) {
    throw new UsageError(undefined, { cause })
  }
}

async function serverState(environment: NodeJS.ProcessEnv): Promise<Record<string, unknown>> {
  const { VAULT_ADDR: address = defaultAddress, VAULT_TOKEN: token } = environment
  const paths = token === undefined ? openPaths : [...openPaths, ...tokenPaths]
  trustAuthority(environment['VAULT_CACERT'])
  const answers: Record<string, unknown> = {}
  for (const path of paths) answers[path] = await answerOf(address + path, token)
  return answers
}

/** As clients of Vault do: a file of authorities, in addition to those that Node.js trusts. */
function trustAuthority(file: string | undefined): void {
  if (file === undefined || file === '') return
  try {
    setDefaultCACertificates([...getCACertificates(), readFileSync(file, 'utf8')])
  } catch (cause) {
    throw new CommandError(`cannot use the authorities in VAULT_CACERT: ${systemCode(cause)}`, { cause })
  }
}

async function answerOf(url: string, token: string | undefined): Promise<object> {
  try {
    const response = await fetch(url, {
      headers: token === undefined ? {} : { 'x-vault-token': token },
      signal: AbortSignal.timeout(answerMs),
    })
    return { status: response.status, body: (await response.text()).split('\n') }
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    return { error: systemCode(cause) }
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

/** The last lines of a log file. Throws a CommandError. */
function endOf(path: string): string[] {
  try {
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
  } catch (cause) {
    throw new CommandError(`cannot read ${path}: ${systemCode(cause)}`, { cause })
  }
}

/** None should be there: settings are listed without them, and log and metrics have none. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets)
    if (secret.length >= 4) clean = clean.replaceAll(JSON.stringify(secret).slice(1, -1), '(secret)')
  return clean
}
