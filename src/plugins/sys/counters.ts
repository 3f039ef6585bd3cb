import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View } from '../../core/barrier/view.ts'
import { CachedCount } from '../../core/cached-count.ts'
import type { TokenStore } from '../../core/tokens/token-store.ts'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource.ts'
import type { Clock } from '../../lib/clock.ts'
import { answers } from './answers.ts'

export type CounterParts = { readonly counts: StoredCounts }

export type StoredCountParts = {
  readonly tokens: Pick<TokenStore, 'scan' | 'isUsable'>
  /** The view that holds the entities. */
  readonly view: View
  readonly clock: Clock
}

/** Counts of stored objects. Each count is kept for a while. */
export type StoredCounts = { readonly serviceTokens: CachedCount; readonly entities: CachedCount }

export const storedCounts = ({ tokens, view, clock }: StoredCountParts): StoredCounts => ({
  serviceTokens: new CachedCount({ clock, count: () => countTokens(tokens) }),
  entities: new CachedCount({ clock, count: () => countEntities(view) }),
})

const pageSize = 200
const keyPageSize = 2000
const entityKeys = 'entity/'

/** `sys/internal/counters/*`, for the namespace of the request. docs/contract/http.md#help-counters-tools */
export function counterResources({ counts }: CounterParts): Resource[] {
  return [
    resource('/internal/counters/tokens', {
      help: 'How many valid service tokens the namespace has; the count may be some seconds old.',
      read: {
        summary: 'Count service tokens',
        ...answers.serviceTokens,
        handle: async ({ mount }) => ({
          data: { counters: { service_tokens: { total: await counts.serviceTokens.of(mount.namespace) } } },
        }),
      },
    }),
    resource('/internal/counters/entities', {
      help: 'How many entities the namespace has; the count may be some seconds old.',
      read: {
        summary: 'Count entities',
        ...answers.entities,
        handle: async ({ mount }) => ({
          data: { counters: { entities: { total: await counts.entities.of(mount.namespace) } } },
        }),
      },
    }),
    resource('/internal/counters/requests', {
      help: 'Removed: requests are no longer counted.',
      read: {
        summary: 'Removed',
        statuses: [],
        handle: () => {
          throw refuse('missing', 'The functionality has been removed on this path')
        },
      },
    }),
  ]
}

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
