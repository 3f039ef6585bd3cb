import { Changes } from '../../core/records/change.ts'
import { refuse } from '../../errors.ts'
import { Limiter } from '../../lib/concurrency/limiter.ts'
import { isSame } from './judged.ts'
import { mayLose, type WhatIf } from './what-if.ts'

/** Most callers that wait for a what-if of a mount. */
const mostWaiting = 8

/** One what-if of a mount runs at a time. docs/contract/what-if.md */
export const whatIfTurns = (): Limiter =>
  new Limiter(1, {
    most: mostWaiting,
    ms: 30_000,
    refusal: () => refuse('throttled', 'too many what-ifs of this mount at a time'),
  })

export type GuardedWrite<Role> = {
  /** Those that the mount remembers. */
  readonly days: number
  /** Most subjects that may lose access. */
  readonly most: number
  /** The stored role. */
  find(): Promise<Role | undefined>
  whatIf(before: Role | undefined): Promise<WhatIf>
  /** Returns the warnings. Calls `check` with the stored form, and writes nothing if that throws. */
  write(check: (stored: unknown) => void): Promise<string[]>
}

/** What was written, or the report of why it was not. */
export type GuardedOutcome = { readonly warnings: string[] } | { readonly refused: WhatIf }

const changes = new Changes({ view: { write: async () => true }, tooMany: 'too many changes of the role' })

/** Writes a role that is still as it was judged, unless too many would or might lose access. docs/contract/what-if.md#guard */
export function guardedWrite<Role extends { readonly record: object }>(
  write: GuardedWrite<Role>,
): Promise<GuardedOutcome> {
  if (write.days === 0)
    throw refuse('invalid', "'guard' needs a memory of logins: 'history_days' of the mount is 0")
  return changes.runUnordered(async (_write, overtaken) => {
    const before = await write.find()
    const found = await write.whatIf(before)
    if (mayLose(found) > write.most) return { refused: found }
    const warnings = await write.write((stored) => {
      if (!isSame(stored, before?.record)) throw overtaken
    })
    return { warnings }
  })
}
