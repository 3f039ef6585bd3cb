/** A certificate cannot be used. The message says why and has no part of a key. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate'
}
