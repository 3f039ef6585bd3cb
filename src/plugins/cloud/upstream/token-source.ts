import type { UpstreamCall } from './upstream-call.ts'

export type TokenResource = 'directory' | 'resource-manager'

/** What the directory says about the engine's own identity. */
export type TokenClaims = { readonly appId: string | undefined; readonly objectId: string | undefined; readonly roles: readonly string[] }

/** Access tokens of the root credential. Throws `UpstreamError` only. */
export type TokenSource = {
  /** Kept until shortly before its end; callers at the same time share one request. */
  token(resource: TokenResource, call: UpstreamCall): Promise<string>
  /** The claims of the kept token, read, not verified: it comes from its issuer directly. */
  claims(resource: TokenResource, call: UpstreamCall): Promise<TokenClaims>
  /** The kept tokens are not used again. */
  invalidate(): void
  /** One request, never from a cache: true when the login service gives a token for this secret, false when it does not (yet) know client or secret. */
  proveSecret(clientId: string, secret: string, resource: TokenResource, call: UpstreamCall): Promise<boolean>
}
