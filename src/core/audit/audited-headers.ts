import type { IncomingHttpHeaders } from 'node:http'
import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/go/text.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import type { View } from '../barrier/view.ts'

/** Whether values are hashed, by name of the header in lower case. */
type Headers = Readonly<Record<string, { readonly hmac: boolean }>>

const key = 'request-headers'
const most = 100
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/** Hashed in any case, like all tokens. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-vault-token',
])

/** The request headers that audit entries show. docs/contract/audit.md#request-headers */
export class AuditedHeaders {
  readonly #view: View
  readonly #mutex = new KeyedMutex()
  #headers: Headers

  private constructor(view: View, headers: Headers) {
    this.#view = view
    this.#headers = headers
  }

  static async open(view: View): Promise<AuditedHeaders> {
    return new AuditedHeaders(view, headersOf(await view.get(key)))
  }

  get all(): Headers {
    return this.#headers
  }

  /** How a header is shown; undefined if it is not. */
  get(name: string): { readonly hmac: boolean } | undefined {
    return own(this.#headers, name.toLowerCase())
  }

  /** Throws `invalid` for what is no header name. */
  async put(name: string, hmac: boolean): Promise<void> {
    if (!nameForm.test(name)) throw refuse('invalid', `${quoted(name)} is not the name of a header`)
    const lower = name.toLowerCase()
    await this.#change((headers) => {
      const changed = { ...headers, [lower]: { hmac: hmac || credentials.has(lower) } }
      if (Object.keys(changed).length > most) throw refuse('invalid', `more than ${most} headers`)
      return changed
    })
  }

  async delete(name: string): Promise<void> {
    await this.#change(({ [name.toLowerCase()]: _removed, ...rest }) => rest)
  }

  /** The headers of a request among them; the names of `headers` are in lower case. */
  of(headers: IncomingHttpHeaders) {
    return Object.entries(this.#headers).flatMap(([name, { hmac }]) => {
      const sent = own(headers, name)
      return sent === undefined ? [] : [{ name, values: [sent].flat(), hmac }]
    })
  }

  #change(change: (headers: Headers) => Headers): Promise<void> {
    return this.#mutex.runExclusive(key, async () => {
      const changed = change(this.#headers)
      await this.#view.write([{ key, value: changed }])
      this.#headers = changed
    })
  }
}

/** Checks nothing more, since this server sealed the record. */
const headersOf = (stored: unknown): Headers =>
  typeof stored === 'object' && stored !== null ? { ...stored } : {}

/** Names of headers such as `constructor` are also names of inherited properties. */
const own = <Value>(headers: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(headers, name) ? headers[name] : undefined
