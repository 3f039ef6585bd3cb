import { type Agent, request } from 'node:http'

/** A JSON body for tests: any member may be read and compared; `String(…)` turns one into a text. */
export interface Json {
  readonly [member: string]: Json
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The parsed body; undefined if there is none. */
  readonly body: Json
}

export type CallOptions = {
  headers?: Record<string, string | readonly string[]>
  raw?: string | Uint8Array
  localAddress?: string
}

/** Call options that send a request into a namespace; `''` is the root namespace. */
export const inside = (namespace: string): CallOptions =>
  namespace === '' ? {} : { headers: { 'X-Vault-Namespace': namespace } }

/**
 * A plain HTTP client for a server at a URL or `unix:PATH`, with or without a token; a function names the server of
 * each request. Each request has a connection of its own, unless an agent keeps them.
 */
export class Client {
  readonly #url: string | (() => string)
  readonly #token: string | undefined
  readonly #agent: Agent | false

  constructor(url: string | (() => string), token?: string, agent: Agent | false = false) {
    this.#url = url
    this.#token = token
    this.#agent = agent
  }

  with(token: string): Client {
    return new Client(this.#url, token, this.#agent)
  }

  read = (path: string, options?: CallOptions) => this.call('GET', path, undefined, options)
  list = (path: string, options?: CallOptions) =>
    this.call('GET', path.includes('?') ? `${path}&list=true` : `${path}?list=true`, undefined, options)
  write = (path: string, body?: unknown, options?: CallOptions) => this.call('POST', path, body, options)
  delete = (path: string, options?: CallOptions) => this.call('DELETE', path, undefined, options)

  /** `path` is below `/v1/`, unless it begins with a slash. */
  call(
    method: string,
    path: string,
    body?: unknown,
    { headers = {}, raw, localAddress }: CallOptions = {},
  ): Promise<Answer> {
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const length = payload === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(payload)) }
    const token = this.#token === undefined ? {} : { 'X-Vault-Token': this.#token }
    const url = typeof this.#url === 'string' ? this.#url : this.#url()
    return new Promise((resolve, reject) => {
      const socketPath = url.startsWith('unix:') ? url.slice('unix:'.length) : undefined
      const sent = request(
        socketPath === undefined ? url : 'http://localhost',
        // as written: a URL would normalise what a test is about
        {
          method,
          path: path.startsWith('/') ? path : `/v1/${path}`,
          headers: { ...length, ...token, ...headers },
          agent: this.#agent,
          ...(localAddress === undefined ? {} : { localAddress }),
          ...(socketPath === undefined ? {} : { socketPath }),
        },
        (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('error', reject)
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, body: parsed(text) })
          })
        },
      )
      sent.on('error', reject)
      sent.end(payload)
    })
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    // tests that expect a body fail on the undefined member they look at
    return undefined as unknown as Json
  }
}
