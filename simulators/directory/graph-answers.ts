import { ApiError } from './api-error.ts'
import type { Call, Reply } from './call.ts'
import { isSeen, type Lived } from './consistency.ts'
import { readFilter } from './filter.ts'
import { pageOf } from './paging.ts'

const guid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The canonical form of an id. Throws for an invalid id. */
export function readId(text: string | undefined): string {
  if (text === undefined || !guid.test(text))
    throw new ApiError(400, 'Request_BadRequest', `Invalid object identifier '${text}'.`)
  return text.toLowerCase()
}

export const resourceMissing = (id: string) =>
  new ApiError(
    404,
    'Request_ResourceNotFound',
    `Resource '${id}' does not exist or one of its queried reference-property objects are not present.`,
  )

/** The object in the view of this replica. Throws 404 if it does not exist there. */
export function getSeen<T extends Lived>(call: Call, things: ReadonlyMap<string, T>, id: string): T {
  const thing = things.get(id)
  if (thing === undefined || !isSeen(call.view, thing, 'changeToRead')) throw resourceMissing(id)
  return thing
}

export type Listing<T> = {
  context: string
  items: Iterable<T>
  /** The properties that `$filter` supports. */
  properties(item: T): Record<string, string | readonly string[]>
  names: readonly string[]
  show(item: T): Record<string, unknown>
  pageSize: number
}

/** A page of a list, with the request's filter, selection and size. */
export function listReply<T extends { seq: number }>(
  call: Call,
  { context, items, properties, names, show, pageSize }: Listing<T>,
): Reply {
  const filter = call.query.get('$filter')
  const holds = filter === null ? () => true : readFilter(filter, names)
  const { items: page, next } = pageOf(
    call,
    [...items].filter((item) => holds(properties(item))),
    pageSize,
  )
  const value = page.map((item) => select(call, show(item)))
  return {
    status: 200,
    body: {
      '@odata.context': contextOf(call, context),
      ...(next !== undefined && { '@odata.nextLink': next }),
      value,
    },
  }
}

const contextOf = (call: Call, name: string) => `${call.origin}/v1.0/$metadata#${name}`

/** An object with its `@odata.context`. */
export const entityReply = (
  call: Call,
  { status = 200, context, entity }: { status?: number; context: string; entity: Record<string, unknown> },
): Reply => ({
  status,
  body: { '@odata.context': contextOf(call, `${context}/$entity`), ...select(call, entity) },
})

function select(call: Call, entity: Record<string, unknown>): Record<string, unknown> {
  const names = call.query.get('$select')?.split(',')
  return names === undefined
    ? entity
    : Object.fromEntries(
        Object.entries(entity).filter(([name]) =>
          names.some((one) => one.trim().toLowerCase() === name.toLowerCase()),
        ),
      )
}
