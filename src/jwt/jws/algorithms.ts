/** Signature algorithms a token may carry, in the order texts name them. docs/contract/jwt.md#keys */
export const supportedAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
] as const

export type Algorithm = (typeof supportedAlgorithms)[number]

const names: ReadonlySet<string> = new Set(supportedAlgorithms)

export const isSupportedAlgorithm = (name: string): name is Algorithm => names.has(name)
