import { z } from 'zod'
import type { Clock } from '../../lib/system/clock.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View } from '../barrier/view.ts'
import { irrevocableLeases } from '../leases/irrevocable.ts'
import { lanes } from '../leases/lease-keys.ts'
import { CachedCount, keptForMs } from '../records/cached-count.ts'
import { tokenPrefix } from '../tokens/store/token-keys.ts'
import type { TokenStore } from '../tokens/store/token-store.ts'

export type StoredCountParts = {
  readonly tokens: Pick<TokenStore, 'isUsable' | 'pages'>
  /** The core's view. */
  readonly view: View
  readonly clock: Clock
  readonly shared: SharedStorage | undefined
}

/**
 * Cached counts of stored objects, by namespace; leases by the accessor of their mount. `tokenRecords`
 * includes tokens that have ended and are about to be deleted: no record is decrypted.
 */
export function storedCounts(parts: StoredCountParts) {
  const { tokens, view, clock } = parts
  const counted = (name: string, count: Count) =>
    new CachedCount({ clock, count: () => countOnce(name, count, parts) })
  return {
    serviceTokens: counted('tokens', () => countTokens(tokens)),
    entities: counted('entities', () => countEntities(view)),
    tokenRecords: counted('token-records', () => countKeys(view, [tokenPrefix], () => 'all')),
    leases: counted('leases', () => countKeys(view, lanes, firstStep)),
    irrevocableLeases: counted('irrevocable-leases', () => countIrrevocable(view)),
  }
}

type Count = () => Promise<ReadonlyMap<string, number>>

/** A count that a server has stored for the others. `until`: when it is to be replaced. */
const storedCount = z.object({ byNamespace: z.record(z.string(), z.number()), until: z.number() })
/** Longer than a count takes. */
const countingMs = 5 * 60_000

/** Counts, or takes the count of another server: one at a time counts. */
async function countOnce(
  name: string,
  count: Count,
  { view, clock, shared }: StoredCountParts,
): Promise<ReadonlyMap<string, number>> {
  if (shared === undefined) return await count()
  const key = `count/${name}`
  const known = storedCount.safeParse(await view.get(key)).data
  const isFresh = known !== undefined && clock.now() < known.until
  const fence = isFresh ? undefined : await shared.holdJob(`count-${name}`, countingMs)
  if (known !== undefined && fence === undefined) return new Map(Object.entries(known.byNamespace))
  try {
    const started = clock.now()
    const byNamespace = await count()
    const until = clock.now() + keptForMs(clock.now() - started)
    const value = { byNamespace: Object.fromEntries(byNamespace), until }
    await view.write([{ key, value, isUncopied: true }])
    return byNamespace
  } finally {
    if (fence !== undefined) await shared.releaseJob(fence)
  }
}

const entityKeys = 'entity/'

async function countTokens(tokens: StoredCountParts['tokens']): Promise<ReadonlyMap<string, number>> {
  const byNamespace = new Map<string, number>()
  for await (const page of tokens.pages())
    for (const { token } of page) if (tokens.isUsable(token)) addOne(byNamespace, token.namespace)
  return byNamespace
}

/** The storage key of an entity contains its namespace. */
const countEntities = (view: View) => countKeys(view, [entityKeys], firstStep)

const firstStep = (key: string): string => key.slice(0, key.indexOf('/'))

/** Counts keys by a name in what follows the prefix. Decrypts no record. */
async function countKeys(
  view: View,
  prefixes: readonly string[],
  nameIn: (rest: string) => string,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const prefix of prefixes)
    for await (const page of view.keyPages(prefix))
      for (const key of page) addOne(counts, nameIn(key.slice(prefix.length)))
  return counts
}

async function countIrrevocable(view: View): Promise<ReadonlyMap<string, number>> {
  const byMount = new Map<string, number>()
  for await (const { mountAccessor } of irrevocableLeases(view)) addOne(byMount, mountAccessor)
  return byMount
}

const addOne = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
