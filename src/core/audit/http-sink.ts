import { type IncomingMessage, Agent as PlainAgent, request as requestPlain } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { systemCode } from '../../lib/system/private-file.ts'
import { type Sink, type SinkEnd, SinkError, type SinkTarget } from './sink.ts'

const maxAnswerBytes = 64 * 1024

/** Sends each line as a POST, one after the other, over one connection. */
export class HttpSink implements Sink {
  readonly isReadable = false
  readonly #target: SinkTarget & { kind: 'http' }
  readonly #deadlineMs: number
  readonly #agent: PlainAgent | TlsAgent

  constructor(target: SinkTarget & { kind: 'http' }, deadlineMs: number) {
    this.#target = target
    this.#deadlineMs = deadlineMs
    const options = { keepAlive: true, maxSockets: 1 }
    this.#agent = isTls(target.uri) ? new TlsAgent(options) : new PlainAgent(options)
  }

  open(): SinkEnd {
    return { isNew: false }
  }

  async write(lines: readonly string[]): Promise<void> {
    let written = 0
    try {
      for (const line of lines) {
        await this.#post(line)
        written += 1
      }
    } catch (cause) {
      const isUncertain = cause instanceof PostFailure && cause.mayHaveArrived
      throw new SinkError(cause, { code: codeOf(cause), written, isUncertain })
    }
  }

  async sync(): Promise<void> {}

  /** Ends connections only: the agent opens new ones. */
  close(): void {
    this.#agent.destroy()
  }

  async #post(line: string): Promise<void> {
    const signal = AbortSignal.timeout(this.#deadlineMs)
    try {
      await this.#postOnce(line, signal)
    } catch (cause) {
      // the collector closed the idle connection at the moment of this request
      if (!(cause instanceof PostFailure && cause.isStale)) throw cause
      await this.#postOnce(line, signal)
    }
  }

  #postOnce(line: string, signal: AbortSignal): Promise<void> {
    const { uri, headers } = this.#target
    const body = Buffer.from(line)
    return new Promise((resolve, reject) => {
      const request = (isTls(uri) ? requestTls : requestPlain)(uri, {
        method: 'POST',
        agent: this.#agent,
        headers: { 'content-type': 'application/json', ...headers, 'content-length': body.length },
        signal,
      })
      let isConnected = false
      request.once('socket', (socket) => {
        if (request.reusedSocket) isConnected = true
        else
          socket.once(isTls(uri) ? 'secureConnect' : 'connect', () => {
            isConnected = true
          })
      })
      request.once('response', (answer) => {
        const status = answer.statusCode ?? 0
        const refusal = Object.assign(new Error(`the collector answered ${status}`), {
          code: `HTTP_${status}`,
        })
        // a gateway may have passed the line on before it failed
        const failure = new PostFailure(refusal, status >= 500, false)
        drop(answer, () => (status >= 200 && status < 300 ? resolve() : reject(failure)))
      })
      request.once('error', (cause) => reject(new PostFailure(cause, isConnected, request.reusedSocket)))
      request.end(body)
    })
  }
}

/** A request without the wanted answer. */
class PostFailure extends Error {
  readonly code: string
  readonly mayHaveArrived: boolean
  readonly isStale: boolean

  constructor(cause: Error, mayHaveArrived: boolean, isReused: boolean) {
    super(cause.message, { cause })
    this.code = systemCode(cause)
    this.mayHaveArrived = mayHaveArrived
    this.isStale = isReused && this.code === 'ECONNRESET'
  }
}

const isTls = (uri: string): boolean => uri.startsWith('https:')

const codeOf = (cause: unknown): string => {
  const code = systemCode(cause)
  return code === 'ABORT_ERR' || code === 'TimeoutError' ? 'ETIMEDOUT' : code
}

/** Reads the body to its end, so that the connection can be used again, and drops it. */
function drop(answer: IncomingMessage, done: () => void): void {
  let bytes = 0
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) answer.destroy()
  })
  answer.once('close', done)
}
