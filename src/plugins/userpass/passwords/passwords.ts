import { Buffer } from 'node:buffer'
import { refuse } from '../../../errors.ts'
import type { Random } from '../../../lib/random.ts'
import { type Argon2Cost, argon2Dummy, argon2Hash, argon2Matches } from './argon2.ts'
import type { HashingQueue } from './hashing-queue.ts'

export type PasswordParts = {
  readonly queue: HashingQueue
  readonly cost: Argon2Cost
  readonly random: Random
}

const maxBytes = 4096

/** Hashes passwords, and compares them with hashes. docs/contract/userpass.md#passwords */
export class Passwords {
  readonly #parts: PasswordParts
  readonly #dummy: string

  constructor(parts: PasswordParts) {
    this.#parts = parts
    this.#dummy = argon2Dummy(parts.cost)
  }

  /** The hash of a new password. Throws `invalid` if it is too long. */
  async hash(password: string): Promise<string> {
    const { queue, cost, random } = this.#parts
    const bytes = Buffer.from(password)
    if (bytes.length > maxBytes)
      throw refuse('invalid', `password is longer than maximum of ${maxBytes} bytes`)
    return queue.write(() => argon2Hash(bytes, cost, random))
  }

  /**
   * Whether the password has this hash. Without a hash, false after the same work. Throws `throttled` if too
   * many logins wait.
   */
  async matches(password: string, hash: string | undefined, address: string): Promise<boolean> {
    const bytes = Buffer.from(password)
    // nobody has such a password, so its refusal tells nothing
    if (bytes.length > maxBytes) return false
    const matches = await this.#parts.queue.login(address, () => argon2Matches(bytes, hash ?? this.#dummy))
    return matches && hash !== undefined
  }
}
