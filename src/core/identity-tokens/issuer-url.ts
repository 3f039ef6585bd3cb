import { refuse } from '../../errors.ts'

const form = /^https?:\/\/[^/?#@\s\\]{1,512}$/i

/**
 * An issuer as it may be configured: scheme, host and port only; "" is none. Throws otherwise.
 * docs/contract/identity-tokens.md
 */
export function checkIssuer(text: string): void {
  if (text !== '' && !(form.test(text) && URL.canParse(text)))
    throw refuse(
      'invalid',
      'invalid issuer, which must include only a scheme, host, and optional port (e.g. https://example.com:8200)',
    )
}

/** What stands in `iss`: a base URL, and where a namespace serves its discovery document. */
export const issuerUrl = (base: string, namespacePath: string): string =>
  `${base}/v1/${namespacePath}identity/oidc`
