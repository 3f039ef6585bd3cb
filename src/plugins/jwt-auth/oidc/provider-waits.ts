import { refuse } from '../../../errors.ts'

/**
 * Most callbacks of one mount that wait for its provider: a provider that does not respond must not occupy
 * every request of the server.
 */
const maxProviderWaits = 256

/** Counts the logins waiting for one provider. */
export class ProviderWaits {
  #waiting = 0

  /** Runs `login`, or throws `throttled` at once if too many are waiting. */
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
