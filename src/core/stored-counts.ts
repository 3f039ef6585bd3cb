import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import type { View } from './barrier/view.ts'
import { CachedCount } from './cached-count.ts'
import type { TokenStore } from './tokens/token-store.ts'

export type StoredCountParts = {
  readonly tokens: Pick<TokenStore, 'scan' | 'isUsable'>
  /** The view that stores the entities. */
  readonly view: View
  readonly clock: Clock
}

/** Cached counts of stored objects. */
export type StoredCounts = { readonly serviceTokens: CachedCount; readonly entities: CachedCount }

export const storedCounts = ({ tokens, view, clock }: StoredCountParts): StoredCounts => ({
  serviceTokens: new CachedCount({ clock, count: () => countTokens(tokens) }),
  entities: new CachedCount({ clock, count: () => countEntities(view) }),
})

const pageSize = 200
const keyPageSize = 2000
const entityKeys = 'entity/'

async function countTokens(tokens: StoredCountParts['tokens']): Promise<ReadonlyMap<string, number>> {
  const byNamespace = new Map<string, number>()
  for (let after: string | undefined; ; await nextTurn()) {
    const page = await tokens.scan({ limit: pageSize, ...(after === undefined ? {} : { after }) })
    for (const { token } of page) if (tokens.isUsable(token)) addOne(byNamespace, token.namespace)
    after = page.at(-1)?.hash
    if (after === undefined) return byNamespace
  }
}

/** The storage key of an entity contains its namespace, so no record is decrypted. */
async function countEntities(view: View): Promise<ReadonlyMap<string, number>> {
  const byNamespace = new Map<string, number>()
  for (let after: string | undefined; ; await nextTurn()) {
    const keys = await view.listKeys(entityKeys, {
      limit: keyPageSize,
      ...(after === undefined ? {} : { after }),
    })
    for (const key of keys)
      addOne(byNamespace, key.slice(entityKeys.length, key.indexOf('/', entityKeys.length)))
    after = keys.at(-1)
    if (after === undefined) return byNamespace
  }
}

const addOne = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
