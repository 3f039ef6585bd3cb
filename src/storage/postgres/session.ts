import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Client, type ClientConfig, type QueryArrayConfig, type QueryArrayResult } from 'pg'
import { isLoopbackHost } from '../../lib/net/address.ts'
import type { PostgresAddress } from '../../lib/net/postgres-url.ts'
import { engineCode } from '../storage-error.ts'
import type { Statement } from './statements.ts'

/** How to connect. docs/settings.md */
export type ConnectionSettings = {
  readonly address: PostgresAddress
  readonly password: string | undefined
  /** Read again for each new connection. */
  readonly passwordFile: string | undefined
  /** PEM file of the authorities that sign the database's certificate. */
  readonly caFile: string | undefined
  readonly statementTimeoutMs: number
  /** Whether statements are prepared. A transaction pooler needs `false`. */
  readonly prepares: boolean
  readonly applicationName: string
}

/** The values of a row in the order of its columns; `bytea` as a Buffer, everything else as text. */
export type Row = (string | Buffer | null)[]

type Parameter = string | Buffer | null

const maxConnectMs = 5_000
/** How much longer than the database a session waits for an answer. */
const answerMarginMs = 1_000
const endMs = 1_000
const lockTimeoutMs = 2_000
/** A server that is paused inside a transaction keeps its locks no longer than this. */
const idleInTransactionMs = 2_000

const bytea = 17
/** The database has not kept what this session has prepared. */
const lostStatement = new Set(['26000', '42P05', '0A000'])
const types = {
  getTypeParser: (oid: number) =>
    oid === bytea ? (text: string) => Buffer.from(text.slice(2), 'hex') : (text: string) => text,
}

/**
 * Connects to the first host that accepts writes; else to the first that is at least no standby, whose records
 * are current. Rejects with the last failure.
 */
export async function openSession(settings: ConnectionSettings): Promise<Session> {
  let failure: unknown
  let readOnly: Session | undefined
  for (const host of settings.address.hosts) {
    try {
      const session = await openOn(host, settings)
      if (session.isReadOnly && readOnly === undefined) readOnly = session
      else if (session.isReadOnly) session.destroy()
      else {
        readOnly?.destroy()
        return session
      }
    } catch (cause) {
      failure = cause
    }
  }
  // it may have ended while the others were tried
  if (readOnly?.isBroken === false) return readOnly
  throw failure ?? new Error('the connection has ended')
}

async function openOn(host: { host: string; port: number }, settings: ConnectionSettings): Promise<Session> {
  const { address, statementTimeoutMs } = settings
  const answerMs = statementTimeoutMs + answerMarginMs
  const config: ClientConfig = {
    ...host,
    user: address.user,
    database: address.database,
    password: () => passwordOf(settings),
    ssl: tlsOptions(host.host, settings),
    application_name: settings.applicationName,
    connectionTimeoutMillis: Math.min(maxConnectMs, answerMs),
    // without an answer until then, the connection ends
    query_timeout: answerMs,
    keepAlive: true,
    pipeline: true,
  }
  const session = new Session(new Client(config), settings)
  try {
    await session.begin()
    // the database may have ended it with the message behind its answer
    if (session.isBroken) throw new Error('the connection has ended')
    return session
  } catch (cause) {
    session.destroy()
    throw cause
  }
}

const limitsOf = ({ statementTimeoutMs }: ConnectionSettings): string[] => [
  `statement_timeout = ${statementTimeoutMs}`,
  `lock_timeout = ${Math.min(lockTimeoutMs, statementTimeoutMs)}`,
  `idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
]

/** A commit is durable before it is answered, whatever the database's default. */
const keepDurable = (isLocal: boolean): string[] => [
  `SELECT set_config('synchronous_commit', 'on', ${isLocal}) WHERE current_setting('synchronous_commit') <> 'remote_apply'`,
]

const passwordOf = ({ password, passwordFile }: ConnectionSettings): string =>
  passwordFile === undefined ? (password ?? '') : readFileSync(passwordFile, 'utf8').trimEnd()

function tlsOptions(host: string, { address, caFile }: ConnectionSettings): false | ConnectionOptions {
  const isLocal = host.startsWith('/') || isLoopbackHost(host)
  const mode = address.sslmode ?? (isLocal ? 'disable' : 'verify-full')
  if (mode === 'disable' || host.startsWith('/')) return false
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) }
  if (mode === 'verify-full') return { ...ca, rejectUnauthorized: true }
  // `require` is `verify-ca` if authorities are named
  const isVerified = mode === 'verify-ca' || caFile !== undefined
  return { ...ca, rejectUnauthorized: isVerified, checkServerIdentity: () => undefined }
}

/** The database follows another one. */
class StandbyError extends Error {
  readonly code = 'STANDBY'
}

/**
 * One connection. Queries are sent at once, one behind the other, and answered in order. After a failure of
 * the connection, the session is broken for good.
 */
export class Session {
  /** Its row in `commits`, and the registration of the server that it belongs to. */
  slot: { readonly id: string; readonly registration: number } | undefined
  isReadOnly = false
  /** The process of the database that this session has given up, because it did not respond in time. */
  abandoned: string | undefined
  /** The process of the database that serves it. Undefined behind a pooler, which may change it. */
  #backend: string | undefined
  readonly #client: Client
  readonly #settings: ConnectionSettings
  #isBroken = false
  #onBroken: () => void = () => {}

  constructor(client: Client, settings: ConnectionSettings) {
    this.#client = client
    this.#settings = settings
    client.on('error', () => this.#break())
    client.on('end', () => this.#break())
  }

  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Calls the listener once the session is broken: now if it is already. */
  onBroken(listener: () => void): void {
    this.#onBroken = listener
    if (this.#isBroken) listener()
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload = '' }) => listener(payload))
  }

  async begin(): Promise<void> {
    await this.#client.connect()
    const rows = await this.text(
      [
        ...limitsOf(this.#settings).map((limit) => `SET ${limit}`),
        "SET default_transaction_isolation = 'read committed'",
        "SET bytea_output = 'hex'",
        // all reads are of keys or ranges of keys, however few or many rows there are
        'SET enable_seqscan = off',
        ...keepDurable(false),
        "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding'), pg_backend_pid()",
      ].join('; '),
    )
    const [recovery, readOnly, encoding, backend] = rows[0] ?? []
    if (recovery === 't') throw new StandbyError('the database is a standby')
    this.isReadOnly = readOnly === 'on'
    if (!this.isPooled) this.#backend = String(backend)
    if (encoding !== 'UTF8') throw new Error(`the database has the encoding ${encoding}, not UTF8`)
  }

  /** Rejects with the database's error (`code`: SQLSTATE), or with that of a broken connection. */
  async query({ name, text }: Statement, values: Parameter[] = []): Promise<Row[]> {
    const prepared = this.#settings.prepares ? { name } : {}
    const { rows } = await this.#ask({ ...prepared, text, values, types, rowMode: 'array' })
    return rows
  }

  /** Several statements in one message; returns the rows of the last one. */
  async text(text: string): Promise<Row[]> {
    const result: unknown = await this.#ask({ text, types, rowMode: 'array' })
    const last = Array.isArray(result) ? result.at(-1) : result
    return last.rows
  }

  /** Whether each transaction must set its limits: a pooler may give it another connection to the database. */
  get isPooled(): boolean {
    return !this.#settings.prepares
  }

  async beginTransaction(): Promise<void> {
    const limits = limitsOf(this.#settings).map((limit) => `SET LOCAL ${limit}`)
    const own = this.isPooled ? [...limits, ...keepDurable(true)] : []
    await this.text(['BEGIN ISOLATION LEVEL READ COMMITTED', ...own].join('; '))
  }

  /** Ends the open transaction. False if the database rolled it back. */
  async commit(): Promise<boolean> {
    return (await this.#ask({ text: 'COMMIT', types, rowMode: 'array' })).command === 'COMMIT'
  }

  /** Ends a transaction that was left open. */
  async leaveTransaction(): Promise<void> {
    if (this.#isBroken || this.#client.getTransactionStatus() === 'I') return
    await this.text('ROLLBACK').catch(() => this.destroy())
  }

  async end(): Promise<void> {
    if (this.#isBroken) return
    this.#isBroken = true
    const limit = setTimeout(() => this.destroy(), endMs)
    await this.#client.end()
    clearTimeout(limit)
  }

  /** Ends the connection at once; whatever is under way rejects. */
  destroy(): void {
    this.#break()
    // pg has no public call for this
    const { connection } = this.#client as unknown as { connection: { stream: { destroy(): void } } }
    connection.stream.destroy()
  }

  async #ask(query: QueryArrayConfig): Promise<QueryArrayResult<Row>> {
    try {
      return await this.#client.query<Row>(query)
    } catch (cause) {
      // pg ends the connection after a timeout, but says so later
      const isLate = cause instanceof Error && cause.message === 'Query read timeout'
      if (isLate) this.abandoned = this.#backend
      if (isLate || lostStatement.has(engineCode(cause))) this.destroy()
      throw cause
    }
  }

  #break(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#onBroken()
  }
}
