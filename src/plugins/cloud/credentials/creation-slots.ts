import { fail } from '../../../errors.ts'

/**
 * So many credentials of one mount are made at a time; who waits is served in the order of asking.
 * docs/contract/cloud.md#ready-when-returned
 */
export class CreationSlots {
  #taken = 0
  readonly #waiting = new Set<() => void>()

  /**
   * Does `work` when there is room; `most` may differ from call to call. Rejects when the time is over
   * before.
   */
  async within<T>(most: number, limitMs: number, work: () => Promise<T>): Promise<T> {
    const end = performance.now() + limitMs
    while (this.#taken >= most) await this.#turn(end - performance.now())
    this.#taken += 1
    try {
      return await work()
    } finally {
      this.#taken -= 1
      const [next] = this.#waiting
      next?.()
    }
  }

  #turn(limitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        clearTimeout(timer)
        this.#waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(go)
        reject(fail('overloaded', 'too many credentials are being made: context deadline exceeded'))
      }, limitMs)
      this.#waiting.add(go)
    })
  }
}
