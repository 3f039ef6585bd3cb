import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/go/text.ts'
import { headerText } from '../../lib/header-text.ts'
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
    const lower = name.toLowerCase()
    return Object.hasOwn(this.#headers, lower) ? this.#headers[lower] : undefined
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

  /** Those of a request among them; `raw` has its names and values in turn, as sent. */
  of(raw: readonly string[]) {
    const shown = Object.entries(this.#headers)
    if (shown.length === 0) return []
    const sent = new Map(shown.map(([name]) => [name, [] as string[]]))
    for (let at = 0; at < raw.length; at += 2)
      sent.get(raw[at]?.toLowerCase() ?? '')?.push(headerText(raw[at + 1] ?? ''))
    return shown.flatMap(([name, { hmac }]) => {
      const values = sent.get(name) ?? []
      return values.length === 0 ? [] : [{ name, values, hmac }]
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
