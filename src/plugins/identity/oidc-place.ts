import type { IdentityTokens } from '../../core/identity-tokens/identity-tokens.ts'
import type { IssuerMount } from '../../core/identity-tokens/issuer-url.ts'
import type { MountTokens } from '../../core/identity-tokens/mount-tokens.ts'
import type { Exchange } from '../../http/resource/resource.ts'

export type IdentityTokenParts = {
  readonly identityTokens: IdentityTokens
  readonly mountTokens: MountTokens
  /** Milliseconds since the epoch. */
  now(): number
}

/** The issuer a request addresses. Throws if the router left out the namespace, which would be a bug. */
export function issuerMountOf({
  call,
  mount,
}: Pick<Exchange<unknown, unknown>, 'call' | 'mount'>): IssuerMount {
  if (call.namespace === undefined) throw new Error('a mount was reached without a namespace')
  return { mount: mount.uuid, namespace: call.namespace }
}
