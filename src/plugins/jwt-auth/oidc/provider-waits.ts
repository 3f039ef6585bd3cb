import { refuse } from '../../../errors.ts'
import { countedAddress } from '../../../lib/net/address.ts'

/** A provider that does not respond must not occupy every request of the server. */
const most = 256
/** Nor may one client keep all others out. */
const mostOfClient = 64

/** The callbacks of one mount that wait for its provider. docs/contract/oidc.md#limits */
export class ProviderWaits {
  readonly #byClient = new Map<string, number>()
  #all = 0

  /** Throws `throttled` if too many wait. */
  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    const client = countedAddress(address)
    if (this.#all >= most || this.#of(client) >= mostOfClient)
      throw refuse('throttled', 'too many logins are waiting for the provider')
    this.#count(client, 1)
    try {
      return await work()
    } finally {
      this.#count(client, -1)
    }
  }

  #of(client: string): number {
    return this.#byClient.get(client) ?? 0
  }

  #count(client: string, change: 1 | -1): void {
    const count = this.#of(client) + change
    this.#all += change
    if (count === 0) this.#byClient.delete(client)
    else this.#byClient.set(client, count)
  }
}
