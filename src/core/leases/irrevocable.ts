import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View } from '../barrier/view.ts'
import { irrevocablePrefix, readScheduled } from './lease-keys.ts'

export type IrrevocableLease = { readonly id: string; readonly mountAccessor: string; readonly error: string }

const pageSize = 500

/**
 * Yields the irrevocable leases of some namespaces, or of all, ordered by expiry time. Reads only their rows, not the
 * records.
 */
export async function* irrevocableLeases(
  view: View,
  namespaces?: ReadonlySet<string>,
): AsyncGenerator<IrrevocableLease> {
  for (let after: string | undefined; ; await nextTurn()) {
    const page = await view.list(irrevocablePrefix, {
      limit: pageSize,
      ...(after === undefined ? {} : { after }),
    })
    for (const { key, value } of page) {
      const { namespace, id } = readScheduled(key.slice(irrevocablePrefix.length))
      if (namespaces?.has(namespace) !== false) yield { id, ...readRow(value) }
    }
    after = page.at(-1)?.key
    if (after === undefined) return
  }
}

function readRow(value: unknown): Omit<IrrevocableLease, 'id'> {
  const { mount_accessor: mountAccessor, error }: { mount_accessor?: unknown; error?: unknown } =
    typeof value === 'object' && value !== null ? value : {}
  return { mountAccessor: String(mountAccessor ?? ''), error: String(error ?? '') }
}
