import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { pino } from 'pino'
import { readConfig } from '../../src/config/config.ts'
import { SettingError } from '../../src/config/setting.ts'
import { StartError } from '../../src/errors.ts'
import { exitCodes } from '../../src/process/exit.ts'
import { rootTokenTeller } from '../../src/process/root-token-teller.ts'
import { startServer } from '../../src/server/server.ts'
import { Client } from './client.ts'
import { untilClosed } from './one-server.ts'

export type FolderServerOptions = {
  /** Holds `data/` with database and seal key, as if a process had started there. */
  folder: string
  /** Settings without their `GATEHOUSE_`; paths are absolute. */
  settings?: Record<string, string>
  dev?: boolean
}

/** A server on the database of a folder, in the test's process. */
export type FolderServer = AsyncDisposable & {
  readonly url: string
  readonly anonymous: Client
  /** The root token it printed; empty if none. */
  readonly rootToken: string
  /** Each root token it kept or told. */
  readonly rootTokens: readonly string[]
  /** Its log, one JSON object per line. */
  readonly stderr: string
  as(token: string): Client
  stop(): Promise<void>
}

/** How a start was refused: the exit code, the last line, and the log. */
export type RefusedStart = { readonly code: number; readonly message: string; readonly stderr: string }

const configOf = ({ folder, settings = {}, dev = false }: FolderServerOptions) => {
  const named = Object.entries({
    LISTEN: '127.0.0.1:0',
    STORAGE: `sqlite:${join(folder, 'data/gatehouse.db')}`,
    SEAL_KEY_FILE: join(folder, 'data/seal.key'),
    ...settings,
  }).map(([name, value]) => [`GATEHOUSE_${name}`, value])
  return readConfig(Object.fromEntries(named), { dev, warn: () => {} })
}

/** A log that is kept as text. */
function keptLog() {
  let text = ''
  const write = (line: string) => {
    text += line
  }
  const log = pino({ level: 'info', formatters: { level: (label) => ({ level: label }) } }, { write })
  return { log, text: () => text }
}

/**
 * Starts the server on the data of an earlier one, or for a later one. It costs a tenth of `startProcess`.
 */
export async function startInFolder(
  options: FolderServerOptions,
  { log, text } = keptLog(),
): Promise<FolderServer> {
  if (options.settings?.['STORAGE'] === undefined)
    mkdirSync(join(options.folder, 'data'), { recursive: true, mode: 0o700 })
  const rootTokens: string[] = []
  const config = configOf(options)
  const tell = (token: string) => void rootTokens.push(token)
  const keep = (token: string) => {
    // into its file, if the settings name one
    rootTokenTeller(config).keep(token)
    tell(token)
  }
  const server = untilClosed(await startServer(config, { log, rootToken: { keep, tell } }))
  const anonymous = new Client(server.url)
  const stop = async () => server[Symbol.asyncDispose]()
  return {
    url: server.url,
    anonymous,
    rootToken: rootTokens.at(-1) ?? '',
    rootTokens,
    get stderr() {
      return text()
    },
    as: (token) => anonymous.with(token),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/**
 * Copies what a server in this folder would leave if it were killed now: its seal key, and all that it has committed.
 * It costs a tenth of a process that is killed.
 */
export function copyAsIfKilled(folder: string, copy: string): void {
  mkdirSync(join(copy, 'data'), { recursive: true, mode: 0o700 })
  const database = new Database(join(folder, 'data/gatehouse.db'), { readonly: true })
  try {
    writeFileSync(join(copy, 'data/gatehouse.db'), database.serialize(), { mode: 0o600 })
  } finally {
    database.close()
  }
  copyFileSync(join(folder, 'data/seal.key'), join(copy, 'data/seal.key'))
}

/** Starts a server that is expected to refuse its start. */
export async function refusedStart(options: FolderServerOptions): Promise<RefusedStart> {
  const kept = keptLog()
  try {
    await using _server = await startInFolder(options, kept)
  } catch (error) {
    if (error instanceof SettingError)
      return { code: exitCodes.setting, message: error.message, stderr: kept.text() }
    if (!(error instanceof StartError)) throw error
    return { code: error.exitCode, message: error.message, stderr: kept.text() }
  }
  throw new Error('the server started')
}
