import type { View } from './barrier/view.ts'

/** One record with its revision, for a write that must not overtake another. */
export async function readRevision(view: View, key: string): Promise<{ value: unknown; revision: number } | undefined> {
  const [record] = await view.list(key, { limit: 1 })
  return record?.key === key ? { value: record.value, revision: record.revision } : undefined
}

/** How often a conditional write is tried again before the server says it is too busy with that record. */
export const writeAttempts = 16
