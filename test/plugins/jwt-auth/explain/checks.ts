import type { Json } from '../../../support/client.ts'

export type Check = {
  readonly name: string
  readonly verdict: string
  readonly reason: string
  readonly expected: unknown[]
  readonly seen: unknown
}

/** The checks of an explanation's `data`. */
export const checksOf = (data: Json | undefined): readonly Check[] => listed(data?.['checks'])

/** A list member, typed for tests. */
export function listed<T>(member: unknown): readonly T[] {
  return Array.isArray(member) ? member : []
}
