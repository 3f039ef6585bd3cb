/** Claims of one JWT. */
export type Claims = Record<string, unknown>

export type ClaimsInput = {
  issuer: string
  /** Seconds since the epoch. */
  now: number
  /** Added to the imitation; a value of undefined takes a claim out. `sub` follows from the others unless given. */
  claims?: Claims
}
