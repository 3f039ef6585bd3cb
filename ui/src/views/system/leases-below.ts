import { ApiError } from '../../api/errors.ts'
import { listLeases } from '../../api/leases.ts'

const mostCalls = 50

/** How many leases are below a prefix; null if the token may not list them, or there are too many to count here. */
export async function leasesBelow(prefix: string, signal: AbortSignal): Promise<number | null> {
  const prefixes = [prefix]
  let count = 0
  for (let calls = 0; ; calls += 1) {
    const next = prefixes.pop()
    if (next === undefined) return count
    if (calls === mostCalls) return null
    try {
      const { keys } = (await listLeases({ params: { path: next } }, { signal })).data
      for (const key of keys)
        if (key.endsWith('/')) prefixes.push(`${next}${key}`)
        else count += 1
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status !== 404) return null
    }
  }
}
