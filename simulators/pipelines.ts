import { setTimeout as pause } from 'node:timers/promises'
import type { Issuer } from './ci-issuer/issuer.ts'
import { type Answer, type Call, clientTokenOf, send } from './operator.ts'

/** A login with a fresh JWT, for the role `ci`. */
export const pipelineLogin = async (issuer: Issuer): Promise<Call> => ({
  method: 'POST',
  path: 'auth/jwt/login',
  body: { role: 'ci', jwt: await issuer.signPipeline('github', { aud: 'gatehouse' }) },
})

/** How long a client repeats a request that fails. */
const patienceMs = 10_000
const pauseMs = 100

/** Clients that log in and look their token up, and repeat what fails. */
export class Pipelines {
  logins = 0
  retries = 0
  readonly #url: string
  readonly #issuer: Issuer
  readonly #stopping = new AbortController()
  readonly #failed = Promise.withResolvers<never>()
  #running: readonly Promise<void>[] = []
  #waiting: { readonly until: number; resolve(): void } | undefined

  constructor(url: string, issuer: Issuer) {
    this.#url = url
    this.#issuer = issuer
  }

  start(clients: number): void {
    this.#running = Array.from({ length: clients }, () => this.#run())
    for (const client of this.#running) client.catch(this.#failed.reject)
    this.#failed.promise.catch(() => {})
  }

  /** Resolves after this many logins. Rejects if a client has given up. */
  async moreLogins(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting = { until: this.logins + count, resolve }
    await Promise.race([promise, this.#failed.promise])
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const token = clientTokenOf(await this.#persistently(await pipelineLogin(this.#issuer)))
      await this.#persistently({ method: 'GET', path: 'auth/token/lookup-self', token })
      this.logins += 1
      if (this.#waiting !== undefined && this.logins >= this.#waiting.until) this.#waiting.resolve()
      await pause(pauseMs)
    }
  }

  async #persistently(call: Call): Promise<Answer> {
    const end = performance.now() + patienceMs
    for (;;) {
      const answer = await send(this.#url, call).catch(() => undefined)
      if (answer !== undefined && answer.status < 500) {
        if (answer.status === 200) return answer
        throw new Error(`${call.path} returned ${answer.status}: ${JSON.stringify(answer.body)}`)
      }
      if (performance.now() > end) throw new Error(`${call.path} was not served for ${patienceMs} ms`)
      this.retries += 1
      await pause(pauseMs)
    }
  }
}
