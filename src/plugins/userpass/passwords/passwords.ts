import { Buffer } from 'node:buffer'
import type { Client, LoginQueue } from '../../../core/tokens/acts/login-queue.ts'
import { refuse } from '../../../errors.ts'
import { Thread } from '../../../lib/concurrency/thread.ts'
import type { Random } from '../../../lib/system/random.ts'
import { type Argon2Cost, argon2Dummy, hasCost, newSalt } from './argon2.ts'
import { bcryptCost, checkBcrypt, isBcrypt } from './bcrypt.ts'
import type { HashingAnswers } from './hashing-worker.ts'

export type PasswordParts = { readonly queue: LoginQueue; readonly cost: Argon2Cost; readonly random: Random }

/** A new password as it is sent: the password itself, or its hash. The other one is empty. */
export type NewPassword = {
  readonly password: string
  readonly password_hash: string
  /** A hash that this server has made or checked before. Empty or absent: none. */
  readonly restored?: string
}

/** A password that is compared with a hash. */
export type Comparison = {
  readonly password: string
  /** Undefined: nobody has this name. */
  readonly hash: string | undefined
  /** The highest cost of the mount's bcrypt hashes; 0 without any. */
  readonly bcryptCost: number
  readonly client: Client
  /** Called when it is this login's turn; what it throws refuses the login without the work. */
  checkAgain(): void
}

const maxBytes = 4096

/** Whether a new password was sent. Throws `invalid` for both a password and a hash, or a hash that is none. */
export function isGiven({ password, password_hash: hash, restored = '' }: NewPassword): boolean {
  if (password !== '' && hash !== '')
    throw refuse('invalid', 'only one of password or password_hash may be provided')
  if (hash !== '') checkBcrypt(hash)
  if (Buffer.byteLength(password) > maxBytes)
    throw refuse('invalid', `password is longer than maximum of ${maxBytes} bytes`)
  return password !== '' || hash !== '' || restored !== ''
}

/**
 * Threads that compute hashes, and take only the time that nobody else needs: docs/limits.md#passwords. The servers of a
 * process share them, and limit how many hashes they compute at once.
 */
const hashingThreads = new Thread<HashingAnswers>({
  program: new URL('./hashing-worker.ts', import.meta.url),
  name: 'passwords',
  niceness: 15,
  most: 8,
  limits: { most: 1_000, ms: 60_000, refusal: () => refuse('overloaded', 'passwords take too long') },
})

/** Hashes passwords, and compares them with hashes. docs/contract/userpass.md#passwords */
export class Passwords {
  readonly #parts: PasswordParts
  readonly #dummy: string

  constructor(parts: PasswordParts) {
    this.#parts = parts
    this.#dummy = argon2Dummy(parts.cost)
  }

  /** The hash to store of what `isGiven`. */
  async hash({ password, password_hash, restored }: NewPassword): Promise<string> {
    const { queue, cost, random } = this.#parts
    return (
      restored ||
      password_hash ||
      queue.write(() => hashingThreads.ask('hash', Buffer.from(password), newSalt(random), cost))
    )
  }

  /** Whether a hash was made by another function, or with less or more work. */
  isOutdated(hash: string): boolean {
    return isBcrypt(hash) || !hasCost(hash, this.#parts.cost)
  }

  /** The client has logged in: a flood of other logins must not keep its next ones out. */
  noteSuccess(client: Client): void {
    this.#parts.queue.noteSuccess(client)
  }

  /**
   * Whether the password has the hash. The work is the same for every hash of a mount, and without one. Throws
   * `throttled` if too many logins wait, or if the client goes while it waits.
   */
  async matches({ password, hash, client, checkAgain, ...mount }: Comparison): Promise<boolean> {
    const bytes = Buffer.from(password)
    // nobody has such a password, so its refusal tells nothing
    if (bytes.length > maxBytes) return false
    const imported = hash !== undefined && isBcrypt(hash) ? hash : undefined
    const own = imported === undefined ? hash : undefined
    const cost = Math.max(mount.bcryptCost, imported === undefined ? 0 : bcryptCost(imported))
    const hashes = { own: own ?? this.#dummy, imported, bcryptCost: cost }
    const matches = await this.#parts.queue.login(client, async () => {
      checkAgain()
      return await hashingThreads.ask('matches', bytes, hashes)
    })
    return (own !== undefined && matches.own) || matches.imported
  }
}
