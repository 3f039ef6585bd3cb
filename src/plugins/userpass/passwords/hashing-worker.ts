import { answerFromThread } from '../../../lib/concurrency/thread-worker.ts'
import { type Argon2Cost, argon2Hash, argon2Matches } from './argon2.ts'
import { bcryptMatches } from './bcrypt.ts'

/* A thread that computes hashes of passwords. passwords.ts starts it. */

/** The hashes that a password is compared with. */
export type Hashes = {
  readonly own: string
  /** Undefined: it has none, but pays for one of this cost. */
  readonly imported: string | undefined
  /** 0: bcrypt is not computed. */
  readonly bcryptCost: number
}

const answers = {
  /** The hash of a password as PHC string. */
  hash: (password: Uint8Array, salt: Uint8Array, cost: Argon2Cost) => argon2Hash(password, salt, cost),
  /** Whether a password has a hash of this product, or an imported one; the work is the same in any case. */
  matches: async (password: Uint8Array, { own, imported, bcryptCost }: Hashes) => ({
    own: argon2Matches(password, own),
    imported: bcryptCost > 0 && (await bcryptMatches(password, imported, bcryptCost)),
  }),
}

export type HashingAnswers = typeof answers

answerFromThread(() => answers)
