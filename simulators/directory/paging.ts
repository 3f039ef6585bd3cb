import { ApiError } from './api-error.ts'
import type { Call } from './call.ts'

const largestPage = 999

export type Page<T> = { items: T[]; next: string | undefined }

/**
 * The requested page of a list (`$top`, `$skiptoken`) and the absolute URL of the next one. If items are
 * added or removed between pages, no other item is skipped.
 */
export function pageOf<T extends { seq: number }>(
  call: Call,
  items: readonly T[],
  pageSize: number,
): Page<T> {
  const size = readTop(call.query.get('$top')) ?? pageSize
  const after = Number(call.query.get('$skiptoken') ?? 0)
  if (!Number.isSafeInteger(after))
    throw new ApiError(
      400,
      'Directory_ExpiredPageToken',
      'The specified page token value has expired and can no longer be included in your request.',
    )
  const rest = items.filter(({ seq }) => seq > after).toSorted((a, b) => a.seq - b.seq)
  const page = rest.slice(0, size)
  const last = page.at(-1)
  if (rest.length <= size || last === undefined) return { items: page, next: undefined }
  const query = new URLSearchParams(call.query)
  query.set('$skiptoken', String(last.seq))
  return { items: page, next: `${call.origin}${call.path}?${query}` }
}

function readTop(text: string | null): number | undefined {
  if (text === null) return undefined
  const top = Number(text)
  if (!Number.isInteger(top) || top < 1 || top > largestPage)
    throw new ApiError(
      400,
      'Request_BadRequest',
      `Invalid page size specified: '${text}'. Must be between 1 and ${largestPage} inclusive.`,
    )
  return top
}
