import { UpstreamConnection } from './connection.ts'
import type { Environment } from './environments.ts'
import { type Waiting, withRetries } from './retry.ts'
import { type FreshToken, openExchange, type Proof } from './transport.ts'
import { type UpstreamParts, waitingOf } from './upstream.ts'
import type { UpstreamCall } from './upstream-call.ts'

/** The login service of a tenant. */
export type LoginSettings = {
  readonly tenantId: string
  readonly environment: Environment
  /** Trusted certificates besides the system's, in PEM. */
  readonly caPem?: string | undefined
}

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
  const { tenantId, environment, caPem } = settings
  const { authorityHost } = environment
  const waiting = waitingOf(parts)
  const connection = new UpstreamConnection(parts, caPem)
  const exchange = openExchange({ authorityHost, tenantId }, connection)
  return {
    tokenEndpoint: `${authorityHost}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
    waiting,
    readyScope: environment.directoryScope,
    clockOffsetMs: () => connection.clockOffsetMs,
    exchange: (client, scope, call) =>
      withRetries(waiting, call, 'token', () => exchange(client, scope, call)),
  }
}
