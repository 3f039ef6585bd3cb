import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View } from '../barrier/view.ts'
import { behind, leasePrefix } from './lease-keys.ts'

const pageSize = 1000

/** The part of `id` after `prefix`, up to and including the next slash. */
export function nextName(id: string, prefix: string): string {
  const slash = id.indexOf('/', prefix.length)
  return slash < 0 ? id.slice(prefix.length) : id.slice(prefix.length, slash + 1)
}

/** A page of a list: at most `limit` names (0: no limit) after the name `after`. */
export type NamePage = { readonly after: string; readonly limit: number }

/**
 * Lists the next path level below a prefix of a namespace's secret lease ids. Skips the contents of folders
 * without reading them. May return more names than requested. docs/contract/leases.md#calls
 */
export async function secretLeaseNames(
  view: View,
  namespace: string,
  prefix: string,
  wanted: NamePage,
): Promise<string[]> {
  const base = `${leasePrefix}${namespace}/${prefix}`
  const names: string[] = []
  let limit = 1
  for (let after = wanted.after === '' ? undefined : afterName(base + wanted.after); ; await nextTurn()) {
    const page: string[] = await view.listKeys(base, { limit, ...(after === undefined ? {} : { after }) })
    const size = page.length
    for (const key of page) {
      const name = nextName(key, base)
      if (names.at(-1) !== name) names.push(name)
    }
    const last = names.at(-1)
    if (size < limit || last === undefined || (wanted.limit > 0 && names.length >= wanted.limit)) return names
    after = afterName(base + last)
    limit = last.endsWith('/') ? 1 : pageSize
  }
}

/** Where a list continues: after a lease, or after the contents of a folder. */
const afterName = (key: string): string => (key.endsWith('/') ? behind(key) : key)
