/** Claims of one JWT. */
export type Claims = Record<string, unknown>

export type ClaimsInput = {
  issuer: string
  /** Seconds since the epoch. */
  now: number
  /** Override the default claims; undefined removes a claim. `sub` follows from the others unless given. */
  claims?: Claims
}
