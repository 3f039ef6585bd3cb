/** When what happens to a root credential, in milliseconds. Changed by tests only. */
export type RotationTimes = {
  /** Between two looks at all mounts. */
  readonly lookMs: number
  /** Between two checks of a pending secret. docs/contract/cloud.md#promotion */
  readonly checkAgainMs: number
  /** Between two attempts at a rotation that is due. */
  readonly rotateAgainMs: number
  /** A pending secret is left alone until it is this old. docs/contract/cloud.md#promotion */
  readonly leastAgeMs: number
  /**
   * A pending certificate that fails for so long never arrived. A pending secret no longer holds up a rotation that
   * is due.
   */
  readonly givenUpMs: number
  /** Other servers may still sign in with the former certificate for as long as they keep their clients. */
  readonly overlapMs: number
}

export const usualTimes: RotationTimes = {
  lookMs: 5_000,
  checkAgainMs: 15_000,
  rotateAgainMs: 60_000,
  leastAgeMs: 60_000,
  givenUpMs: 3_600_000,
  overlapMs: 3_600_000,
}
