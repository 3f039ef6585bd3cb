import { type Identity, identityIn } from '../../core/identity/identity-store.ts'
import { RecordCache } from '../../core/record-cache.ts'
import { lookupData } from '../../core/tokens/lookup-data.ts'
import type { Token } from '../../core/tokens/token.ts'

/** The objects that, with the sent id and the current second, determine the text of a lookup. */
type Source = {
  readonly token: Token
  /** The identity of the token's entity, if known. */
  readonly known: Identity | undefined
  /** Empty for the root namespace. */
  readonly namespacePath: string
  /** Whether the token looks itself up. */
  readonly isCaller: boolean
}

type Written = Source & { readonly second: number; readonly afterId: string }

const mostKept = 4096

/**
 * `data` of lookups as JSON text. While the source is unchanged, only the TTL in it changes, once a second.
 * The latest texts are therefore cached, without token ids.
 */
export class LookupTexts {
  readonly #kept = new RecordCache<Written>(mostKept)

  /** `id` as sent, empty for a lookup by accessor; `now` in milliseconds since the epoch. */
  of(source: Source, id: string, now: number): string {
    return `{"id":${JSON.stringify(id)},${this.#afterId(source, now)}`
  }

  #afterId(source: Source, now: number): string {
    const { token, known, namespacePath, isCaller } = source
    // the TTL is computed from the nearest second
    const second = Math.round(now / 1000)
    const kept = this.#kept.get(token.accessor)
    if (
      kept?.token === token &&
      kept.known === known &&
      kept.second === second &&
      kept.namespacePath === namespacePath &&
      kept.isCaller === isCaller
    )
      return kept.afterId
    const { id: _, ...rest } = lookupData(token, {
      id: '',
      now,
      identityPolicies: known === undefined ? [] : identityIn(known, token.namespace).policies,
      external: known?.policiesByNamespace.filter(
        ({ namespace, names }) => namespace !== token.namespace && names.length > 0,
      ),
      namespacePath,
      isCaller,
    })
    const afterId = JSON.stringify(rest).slice(1)
    this.#kept.set(token.accessor, { ...source, second, afterId })
    return afterId
  }
}
