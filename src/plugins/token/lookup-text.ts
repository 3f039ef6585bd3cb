import { type Identity, identityIn } from '../../core/identity/identity-store.ts'
import { RecordCache } from '../../core/record-cache.ts'
import { lookupData } from '../../core/tokens/lookup-data.ts'
import type { Token } from '../../core/tokens/token.ts'

/** What the text of a lookup is made of, beside the id that was sent; as long as it is the same, the text is. */
type Source = {
  readonly token: Token
  /** Of its entity, if that is known. */
  readonly known: Identity | undefined
  /** Empty for the root namespace. */
  readonly namespacePath: string
}

type Written = Source & { readonly second: number; readonly afterId: string }

const mostKept = 4096

/** `data` of lookups as JSON text. Of all that is in it only the TTL changes by itself, once a second: the last texts are kept, without their token ids. */
export class LookupTexts {
  readonly #kept = new RecordCache<Written>(mostKept)

  /** `id` as sent, empty for a lookup by accessor; `now` in milliseconds since the epoch. */
  of(source: Source, id: string, now: number): string {
    return `{"id":${JSON.stringify(id)},${this.#afterId(source, now)}`
  }

  #afterId(source: Source, now: number): string {
    const { token, known, namespacePath } = source
    // the TTL counts from the nearest second
    const second = Math.round(now / 1000)
    const kept = this.#kept.get(token.accessor)
    if (kept?.token === token && kept.known === known && kept.second === second && kept.namespacePath === namespacePath) return kept.afterId
    const { id: _, ...rest } = lookupData(token, {
      id: '',
      now,
      identityPolicies: known === undefined ? [] : identityIn(known, token.namespace).policies,
      external: known?.policiesByNamespace.filter(({ namespace, names }) => namespace !== token.namespace && names.length > 0),
      namespacePath,
    })
    const afterId = JSON.stringify(rest).slice(1)
    this.#kept.set(token.accessor, { ...source, second, afterId })
    return afterId
  }
}
