/** A certificate on an application, without its bytes. */
export type KeyCredential = {
  readonly keyId: string
  /** The SHA-1 thumbprint of the certificate, in hexadecimal or in base64. */
  readonly customKeyIdentifier: string | undefined
}

/** `thumbprint` is in hexadecimal. */
export function hasThumbprint({ customKeyIdentifier = '' }: KeyCredential, thumbprint: string): boolean {
  const wanted = thumbprint.toLowerCase()
  return (
    customKeyIdentifier.toLowerCase() === wanted ||
    Buffer.from(customKeyIdentifier, 'base64').toString('hex') === wanted
  )
}
