import type { View } from '../barrier/view.ts'
import { irrevocablePrefix, readScheduled } from './lease-keys.ts'

export type IrrevocableLease = { readonly id: string; readonly mountAccessor: string; readonly error: string }

/**
 * Yields the irrevocable leases of some namespaces, or of all, ordered by expiry time. Reads only their rows, not the
 * records.
 */
export async function* irrevocableLeases(
  view: View,
  namespaces?: ReadonlySet<string>,
): AsyncGenerator<IrrevocableLease> {
  for await (const page of view.pages(irrevocablePrefix))
    for (const { key, value } of page) {
      const { namespace, id } = readScheduled(key.slice(irrevocablePrefix.length))
      if (namespaces?.has(namespace) !== false) yield { id, ...readRow(value) }
    }
}

function readRow(value: unknown): Omit<IrrevocableLease, 'id'> {
  const { mount_accessor: mountAccessor, error }: { mount_accessor?: unknown; error?: unknown } =
    typeof value === 'object' && value !== null ? value : {}
  return { mountAccessor: String(mountAccessor ?? ''), error: String(error ?? '') }
}
