import { tooManyLogins } from '../../../core/tokens/acts/login-queue.ts'
import { Limiter } from '../../../lib/concurrency/limiter.ts'
import { countedAddress } from '../../../lib/net/address.ts'
import { loginTimeMs } from './cluster-client.ts'

const atOnce = 16
/** A crowd that waits for a slow cluster must not take the places of all requests. */
const bounds = { most: 500, ms: loginTimeMs, refusal: tooManyLogins }

/** Reviews of one client address run at once up to a limit; further ones wait. docs/contract/kubernetes.md#limits */
export class Turns {
  readonly #byAddress = new Map<string, { readonly limiter: Limiter; logins: number }>()

  /** Throws `throttled` if the turn comes at `endsAt` or later, as `performance.now()` counts. */
  async run<T>(client: string, endsAt: number, work: () => Promise<T>): Promise<T> {
    const address = countedAddress(client)
    const known = this.#byAddress.get(address)
    const own = known ?? { limiter: new Limiter(atOnce, bounds), logins: 0 }
    if (known === undefined) this.#byAddress.set(address, own)
    own.logins += 1
    try {
      return await own.limiter.run(() => {
        // the cluster is not to blame for a login that has only waited
        if (performance.now() >= endsAt) throw tooManyLogins()
        return work()
      })
    } finally {
      own.logins -= 1
      if (own.logins === 0) this.#byAddress.delete(address)
    }
  }
}
