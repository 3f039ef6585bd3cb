import { refuse } from '../../errors.ts'
import { headerText } from '../../lib/net/header-text.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { View } from '../barrier/view.ts'
import { KeptSetting } from '../settings/kept-setting.ts'

/** Whether values are hashed, by name of the header in lower case. */
type Headers = Readonly<Record<string, { readonly hmac: boolean }>>

type HeaderParts = {
  /** The records of the audit log. */
  readonly view: View
  /** Called for a record of another server that cannot be read. */
  onUnreadable(error: unknown): void
}

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
  readonly #kept: KeptSetting<Headers>

  private constructor(kept: KeptSetting<Headers>) {
    this.#kept = kept
  }

  static async open({ view, onUnreadable }: HeaderParts): Promise<AuditedHeaders> {
    const parts = {
      view,
      key: 'request-headers',
      parse: headersOf,
      isRequired: true,
      onFailure: onUnreadable,
    }
    return new AuditedHeaders(await KeptSetting.open(parts))
  }

  /** The key of the record, from the root of the storage. */
  get recordKey(): string {
    return this.#kept.recordKey
  }

  get all(): Headers {
    return this.#kept.current ?? {}
  }

  /** How a header is shown; undefined if it is not. */
  get(name: string): { readonly hmac: boolean } | undefined {
    const lower = name.toLowerCase()
    return Object.hasOwn(this.all, lower) ? this.all[lower] : undefined
  }

  /** Throws `invalid` for what is no header name. */
  async put(name: string, hmac: boolean): Promise<void> {
    if (!nameForm.test(name)) throw refuse('invalid', `${quoted(name)} is not the name of a header`)
    const lower = name.toLowerCase()
    await this.#kept.change((headers) => {
      const changed = { ...headers, [lower]: { hmac: hmac || credentials.has(lower) } }
      if (Object.keys(changed).length > most) throw refuse('invalid', `more than ${most} headers`)
      return changed
    })
  }

  async delete(name: string): Promise<void> {
    await this.#kept.change(({ [name.toLowerCase()]: _removed, ...rest } = {}) => rest)
  }

  /** Those of a request among them; `raw` has its names and values in turn, as sent. */
  of(raw: readonly string[]) {
    const shown = Object.entries(this.all)
    if (shown.length === 0) return []
    const sent = new Map(shown.map(([name]) => [name, [] as string[]]))
    for (let at = 0; at < raw.length; at += 2)
      sent.get(raw[at]?.toLowerCase() ?? '')?.push(headerText(raw[at + 1] ?? ''))
    return shown.flatMap(([name, { hmac }]) => {
      const values = sent.get(name) ?? []
      return values.length === 0 ? [] : [{ name, values, hmac }]
    })
  }
}

/** Checks nothing more, since this server sealed the record. */
const headersOf = (stored: unknown): Headers =>
  typeof stored === 'object' && stored !== null ? { ...stored } : {}
