/** The outcome of one check of a remembered login. */
export type Verdict = {
  /** The check, as `explain` names it. */
  readonly name: string
  /** The record does not say. */
  readonly isUnknown: boolean
  readonly refused?: { readonly reason: string; readonly text: string } | undefined
  /** Numbers the checks of one name. */
  readonly index?: number
}

/** The outcome of a remembered login. */
export type Judged = {
  /** The first check that is known to refuse. */
  readonly refused: Verdict | undefined
  /** Checks of which nothing is known; empty if one refuses. */
  readonly unknown: readonly Verdict[]
}

/** The differences between two settings, which are compared as JSON. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

export const passed = (name: string): Verdict => ({ name, isUnknown: false })
export const unknown = (name: string): Verdict => ({ name, isUnknown: true })
export const verdict = (name: string, refused: Verdict['refused']): Verdict => ({
  name,
  isUnknown: false,
  refused,
})

/** A refusal counts, whatever is not known of other checks. */
export function judgedBy(verdicts: Iterable<Verdict>): Judged {
  const made = [...verdicts]
  const refused = made.find((one) => one.refused !== undefined)
  return { refused, unknown: refused === undefined ? made.filter(({ isUnknown }) => isUnknown) : [] }
}

/** Nobody could log in. */
export const refusedBefore: Judged = { refused: { name: 'config', isUnknown: false }, unknown: [] }

/** The role is gone. */
export const goneNow: Judged = { refused: verdict('role', { reason: 'role_unknown', text: '' }), unknown: [] }
