import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { host, listen, stop } from './loopback.ts'

const checkEveryMs = 200
const checkWithinMs = 10_000

type Target = { readonly url: string; isReady: boolean; running: number; served: number }

/** A small load balancer: each request goes to the next server whose `/health/ready` returns 200. */
export class Balancer implements AsyncDisposable {
  readonly #targets = new Map<string, Target>()
  readonly #agent = new Agent({ keepAlive: true })
  readonly #server = createServer((received, response) => void this.#serve(received, response))
  readonly #changes = new EventTarget()
  #timer: NodeJS.Timeout | undefined
  #next = 0
  #url = ''

  static async start(): Promise<Balancer> {
    const balancer = new Balancer()
    balancer.#url = `http://${host}:${await listen(balancer.#server, 0)}`
    balancer.#checkSoon()
    return balancer
  }

  get url(): string {
    return this.#url
  }

  /** Adds a server, or gives it a new address. Resolves once it is ready. */
  async add(name: string, url: string): Promise<void> {
    const target = { url, isReady: false, running: 0, served: this.#targets.get(name)?.served ?? 0 }
    this.#targets.set(name, target)
    await this.#until(() => target.isReady)
  }

  /** Resolves once the balancer sends this server nothing more, and has all its responses. */
  async lost(name: string): Promise<void> {
    const target = this.#targets.get(name)
    await this.#until(() => target === undefined || (!target.isReady && target.running === 0))
  }

  /** The number of responses that each server has given. */
  get served(): Map<string, number> {
    return new Map([...this.#targets].map(([name, { served }]) => [name, served]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await stop(this.#server)
    this.#agent.destroy()
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isDone()) return
        this.#changes.removeEventListener('checked', look)
        resolve()
      }
      this.#changes.addEventListener('checked', look)
      look()
    })
  }

  #checkSoon(): void {
    this.#timer = setTimeout(() => {
      void this.#check().then(() => this.#checkSoon())
    }, checkEveryMs).unref()
  }

  async #check(): Promise<void> {
    await Promise.all(
      [...this.#targets.values()].map(async (target) => {
        const asked = fetch(`${target.url}/health/ready`, { signal: AbortSignal.timeout(checkWithinMs) })
        target.isReady = await asked.then(
          async (answer) => {
            await answer.body?.cancel()
            return answer.ok
          },
          () => false,
        )
      }),
    )
    this.#changes.dispatchEvent(new Event('checked'))
  }

  async #serve(received: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(received)
    for (let attempts = this.#targets.size; attempts > 0; attempts--) {
      const target = this.#nextReady()
      if (target === undefined) break
      try {
        target.running += 1
        await this.#pass(received, body, { target, response })
        return
      } catch (error) {
        target.isReady = false
        // a request that may have arrived is repeated only if that does no harm
        const wasSent = !(error instanceof Error && 'syscall' in error && error.syscall === 'connect')
        if (response.headersSent || (wasSent && received.method !== 'GET')) break
      } finally {
        target.running -= 1
      }
    }
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  }

  #nextReady(): Target | undefined {
    const ready = [...this.#targets.values()].filter(({ isReady }) => isReady)
    this.#next += 1
    return ready[this.#next % ready.length]
  }

  /** Rejects if the server cannot be reached, or breaks the connection off. */
  #pass(
    { method, url = '/', headers }: IncomingMessage,
    body: Buffer,
    { target, response }: { target: Target; response: ServerResponse },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(`${target.url}${url}`, { method, headers, agent: this.#agent }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
        answer.once('error', reject)
        answer.once('end', () => {
          target.served += 1
          resolve()
        })
      })
      sent.once('error', reject)
      sent.end(body)
    })
  }
}
