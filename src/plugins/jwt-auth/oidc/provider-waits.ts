import { refuse } from '../../../errors.ts'

/**
 * Callbacks of one mount that may wait for its provider at once: a provider that does not answer must not
 * hold every request the server takes.
 */
const maxProviderWaits = 256

/** Counts the logins that wait for one provider. */
export class ProviderWaits {
  #waiting = 0

  /** Runs `login`, or throws `throttled` at once when too many are under way. */
  async during<T>(login: () => Promise<T>): Promise<T> {
    if (this.#waiting >= maxProviderWaits)
      throw refuse('throttled', 'too many logins are waiting for the provider')
    this.#waiting++
    try {
      return await login()
    } finally {
      this.#waiting--
    }
  }
}
