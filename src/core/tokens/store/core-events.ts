import type { TokenType } from './token.ts'

/** What created a token. A wrapping token holds a response. */
export type TokenSource = 'login' | 'token' | 'root' | 'wrapping'

/** Why the record of a token was deleted. `lost`: its parent, entity, mount or namespace has ended. */
export type TokenEnd = 'revoked' | 'expired' | 'spent' | 'lost'

/** What the core reports for metrics. docs/monitoring.md#metrics */
export type CoreEvents = {
  /** A token was stored, or a batch token was sealed. */
  tokenCreated(type: TokenType, source: TokenSource): void
  tokenDeleted(cause: TokenEnd): void
  /** A lease of this mount, given by its full path, was to be revoked. `forced`: dropped after a failure. */
  leaseRevoked(mount: string, outcome: 'ok' | 'failed' | 'forced'): void
}
