import { type ErrorKind, ServiceError } from '../../../errors.ts'
import type { LogLine } from '../../../lib/system/log-fields.ts'
import type { Mount } from '../../mounts/mount.ts'

export type LoginReportParts = {
  /** The method, in metrics: its mount type. */
  readonly method: string
  readonly log: { readonly warn: LogLine }
  readonly counter: {
    login(event: LoginEvent): void
    /** Shows the counters of a mount before anything was counted. */
    beginLogins(mount: string, method: string, reasons?: readonly string[]): void
  }
  /** The path of a mount with that of its namespace. */
  fullPathOf(mount: Mount): string
}

type LoginEvent = {
  readonly mount: string
  readonly method: string
  readonly result: 'ok' | 'refused' | 'error'
  readonly kind: LoginKind
  readonly reason: string
  readonly seconds: number
}

/** How a login comes: as a request of its own, in the headers of another one, or as the token of another one. */
export type LoginKind = 'login' | 'inline' | 'token'

/** Where a login is. */
type Where = {
  readonly mount: Mount
  readonly call: {
    readonly loginKind: LoginKind
    readonly requestId: string
    readonly remoteAddress: string
    reason: string
    isRefusedLogin: boolean
  }
}

/** A login in progress. */
export type ReportedLogin = Where & {
  /**
   * Who logs in, for the log, as far as that is known to exist: people type passwords into fields for names.
   */
  who(): object
  /** Keeps a refused login. Never rejects. */
  record(refused: RefusedLogin): Promise<void>
}

/** Why a login was refused: the error, and its stable word. */
export type RefusedLogin = { readonly reason: string; readonly error: unknown }

type ShownRefusal = {
  readonly isCallersFault: boolean
  readonly shown: { readonly reason: string; readonly [name: string]: unknown }
}

/** The caller can do nothing about these. */
const ourFaults: ReadonlySet<ErrorKind> = new Set([
  'internal',
  'unrecorded',
  'upstream',
  'sealed',
  'unavailable',
  'overloaded',
])

/** Reports how each login of a method ends: with the request, in the log and in the counters. docs/userpass.md#what-is-reported */
export class LoginReports {
  readonly #parts: LoginReportParts

  constructor(parts: LoginReportParts) {
    this.#parts = parts
  }

  beginCounters(mount: Mount, reasons?: readonly string[]): void {
    const { counter, fullPathOf, method } = this.#parts
    counter.beginLogins(fullPathOf(mount), method, reasons)
  }

  /** Runs a login. Rethrows its errors. */
  async watch<Result>(login: ReportedLogin, run: () => Promise<Result>): Promise<Result> {
    const started = performance.now()
    try {
      const result = await run()
      this.ended(login, started, 'ok', '')
      return result
    } catch (error) {
      await this.#failed(login, started, error)
      throw error
    }
  }

  async #failed(login: ReportedLogin, started: number, error: unknown): Promise<void> {
    const isRefused = error instanceof ServiceError && !ourFaults.has(error.kind)
    const reason = isRefused ? (error.reason ?? '') : 'internal'
    // what waits for its turn was not looked at yet
    const isCallersFault = isRefused && error.kind !== 'throttled'
    this.refused(login, { isCallersFault, shown: { ...login.who(), reason } })
    if (reason !== '') await login.record({ reason, error })
    this.ended(login, started, isRefused ? 'refused' : 'error', reason)
  }

  /** Reports a refused login with the request and in the log, which has what is `shown`. */
  refused({ call, mount }: Where, { isCallersFault, shown }: ShownRefusal): void {
    call.reason = shown.reason
    call.isRefusedLogin = isCallersFault
    this.#parts.log.warn(
      {
        event: 'login_refused',
        request_id: call.requestId,
        namespace: mount.namespace,
        mount: mount.path,
        remote_address: call.remoteAddress,
        ...(call.loginKind !== 'login' && { inline: true }),
        ...(call.loginKind === 'token' && { as_token: true }),
        ...shown,
      },
      'login refused',
    )
  }

  /** Counts a login. */
  ended({ mount, call }: Where, started: number, result: LoginEvent['result'], reason: string): void {
    const { counter, method, fullPathOf } = this.#parts
    const seconds = (performance.now() - started) / 1000
    counter.login({ mount: fullPathOf(mount), method, kind: call.loginKind, result, reason, seconds })
  }
}
