import { refuse } from '../../errors.ts'

/** An issuer: the UUID of its identity mount, and its namespace. */
export type IssuerMount = {
  readonly mount: string
  readonly namespace: { readonly id: string; readonly path: string }
}

const form = /^https?:\/\/[^/?#@\s\\]{1,512}$/i

/**
 * Throws `invalid` unless the issuer has only a scheme, host and port, or is empty.
 * docs/contract/identity-tokens.md#issuer
 */
export function checkIssuer(text: string): void {
  if (text !== '' && !(form.test(text) && URL.canParse(text)))
    throw refuse(
      'invalid',
      'invalid issuer, which must include only a scheme, host, and optional port (e.g. https://example.com:8200)',
    )
}

/** The value of `iss`, below which the namespace serves its discovery document. */
export const issuerUrl = (base: string, namespacePath: string): string =>
  `${base}/v1/${namespacePath}identity/oidc`

/** The value of `iss` in tokens of mounts; `issuer` is that of the namespace. */
export const mountIssuerUrl = (issuer: string): string => `${issuer}/plugins`

/** Where an issuer publishes its keys. */
export const keysUrl = (issuer: string): string => `${issuer}/.well-known/keys`
