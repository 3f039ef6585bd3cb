import { UpstreamConnection } from './connection.ts'
import { type Waiting, withRetries } from './retry.ts'
import { type FreshToken, type LoginSettings, openExchange, type Proof } from './transport.ts'
import { type UpstreamParts, waitingOf } from './upstream.ts'
import type { UpstreamCall } from './upstream-call.ts'

/** Exchanges proofs of any client for tokens, with retries; needs no root credential. */
export type TokenExchange = {
  /** Where clients exchange assertions themselves. */
  readonly tokenEndpoint: string
  readonly waiting: Waiting
  /** A scope that every client may ask for. */
  readonly readyScope: string
  /** How far the clock of the login service is ahead of ours; undefined before its first answer. */
  clockOffsetMs(): number | undefined
  /** Throws `UpstreamError`, and what the proof throws. */
  exchange(
    client: { readonly clientId: string; readonly proof: Proof },
    scope: string,
    call: UpstreamCall,
  ): Promise<FreshToken>
}

/** Makes no request. */
export function openTokenExchange(
  settings: LoginSettings,
  parts: Pick<UpstreamParts, 'outbound' | 'clock' | 'pause' | 'random'>,
): TokenExchange {
  const { tenantId, environment } = settings
  const waiting = waitingOf(parts)
  const connection = new UpstreamConnection(parts, settings.caPem)
  const exchange = openExchange(settings, connection)
  return {
    tokenEndpoint: `${environment.authorityHost}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
    waiting,
    readyScope: environment.directoryScope,
    clockOffsetMs: () => connection.clockOffsetMs,
    exchange: (client, scope, call) =>
      withRetries(waiting, call, 'token', () => exchange(client, scope, call)),
  }
}
