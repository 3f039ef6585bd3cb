import { refuse } from '../../../errors.ts'
import { Limiter } from '../../../lib/concurrency/limiter.ts'
import { countedAddress } from '../../../lib/net/address.ts'
import { loginTimeMs } from './cluster-client.ts'

const atOnce = 16

/** Reviews of one client address run at once up to a limit; further ones wait. docs/contract/kubernetes.md#limits */
export class Turns {
  readonly #byAddress = new Map<string, { readonly limiter: Limiter; logins: number }>()

  async run<T>(client: string, work: () => Promise<T>): Promise<T> {
    const address = countedAddress(client)
    const known = this.#byAddress.get(address)
    const own = known ?? { limiter: new Limiter(atOnce, { ms: loginTimeMs, refusal: tooMany }), logins: 0 }
    if (known === undefined) this.#byAddress.set(address, own)
    own.logins += 1
    try {
      return await own.limiter.run(work)
    } finally {
      own.logins -= 1
      if (own.logins === 0) this.#byAddress.delete(address)
    }
  }
}

const tooMany = () =>
  refuse('throttled', 'too many logins are waiting', { reason: 'too_many_logins', retryAfterSeconds: 1 })
