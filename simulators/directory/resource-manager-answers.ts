import type { Call, Reply } from './call.ts'
import { readFilter } from './filter.ts'
import { pageOf } from './paging.ts'

/** The pattern of a path of the resource manager: case-insensitive, with literal dots. */
export const arm = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll('\\.*', '.*')}/?$`, 'i')

export type ArmListing<T> = {
  pageSize: number
  show(item: T): Record<string, unknown>
  /**
   * The properties that `$filter` supports in addition to `atScope()`, which the caller of this implements.
   */
  properties?: ((item: T) => Record<string, string>) | undefined
  names?: readonly string[]
}

/** A page of a list, with the request's filter and size. */
export function listOf<T extends { seq: number }>(
  call: Call,
  all: readonly T[],
  { pageSize, show, properties = () => ({}), names = [] }: ArmListing<T>,
): Reply {
  const requested = call.query
    .get('$filter')
    ?.trim()
    .replace(/^atScope\(\)(?: and )?/i, '')
  const holds =
    requested === undefined || requested === ''
      ? () => true
      : readFilter(requested, names, 'BadRequestFormat')
  const { items, next } = pageOf(
    call,
    all.filter((item) => holds(properties(item))),
    pageSize,
  )
  return { status: 200, body: { value: items.map(show), ...(next !== undefined && { nextLink: next }) } }
}
