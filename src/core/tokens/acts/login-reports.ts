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
    beginLogins(mount: string, method: string): void
  }
  /** The path of a mount with that of its namespace. */
  fullPathOf(mount: Mount): string
}

type LoginEvent = {
  readonly mount: string
  readonly method: string
  readonly result: 'ok' | 'refused' | 'error'
  readonly reason: string
  readonly seconds: number
}

/** A login in progress. */
export type ReportedLogin = {
  readonly mount: Mount
  readonly call: {
    readonly requestId: string
    readonly remoteAddress: string
    reason: string
    isRefusedLogin: boolean
  }
  /**
   * Who logs in, for the log, as far as that is known to exist: people type passwords into fields for names.
   */
  who(): object
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

  beginCounters(mount: Mount): void {
    const { counter, fullPathOf, method } = this.#parts
    counter.beginLogins(fullPathOf(mount), method)
  }

  /** Runs a login. Rethrows its errors. */
  async watch<Result>(login: ReportedLogin, run: () => Promise<Result>): Promise<Result> {
    const started = performance.now()
    try {
      const result = await run()
      this.#ended(login, started, 'ok', '')
      return result
    } catch (error) {
      this.#failed(login, started, error)
      throw error
    }
  }

  #failed(login: ReportedLogin, started: number, error: unknown): void {
    const { call, mount, who } = login
    const refused = error instanceof ServiceError && !ourFaults.has(error.kind)
    const reason = refused ? (error.reason ?? '') : 'internal'
    call.reason = reason
    // what waits for its turn was not looked at yet
    call.isRefusedLogin = refused && error.kind !== 'throttled'
    this.#parts.log.warn(
      {
        event: 'login_refused',
        request_id: call.requestId,
        namespace: mount.namespace,
        mount: mount.path,
        remote_address: call.remoteAddress,
        ...who(),
        reason,
      },
      'login refused',
    )
    this.#ended(login, started, refused ? 'refused' : 'error', reason)
  }

  #ended({ mount }: ReportedLogin, started: number, result: LoginEvent['result'], reason: string): void {
    const { counter, method, fullPathOf } = this.#parts
    const seconds = (performance.now() - started) / 1000
    counter.login({ mount: fullPathOf(mount), method, result, reason, seconds })
  }
}
