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

/** A member that is a list, as tests look into it. */
export function listed<T>(member: unknown): readonly T[] {
  return Array.isArray(member) ? member : []
}
