import { z } from 'zod'
import { type ListRange, namesInOrder } from '../../core/identity/entities/entity-lists.ts'
import { type Detail, listedDetails, listedNames, whileThere } from '../../core/lists.ts'
import { type Exchange, limitOf, type Reply } from '../../http/resource/resource.ts'
import { atMost } from '../../lib/data/async-iterables.ts'
import type { JsonValue } from '../../lib/text/json.ts'

export const listOutput = z.object({
  keys: z.array(z.string()),
  key_info: z.record(z.string(), z.object({ name: z.string() }).loose()),
})

/** docs/contract/http.md#verbs-and-paths */
const rangeOf = ({ after, limit }: Readonly<Record<string, JsonValue>>): ListRange => ({
  after: typeof after === 'string' ? after : '',
  limit: Math.max(0, limitOf(limit)),
})

type Listing = Pick<Exchange<unknown, unknown>, 'sent' | 'whenGone'>

/** Lists what `walk` finds after an id, in the order of ids. */
export async function listed<T extends { readonly id: string }>(
  { sent, whenGone }: Listing,
  walk: (after: string) => AsyncIterable<T>,
  infoOf: (item: T) => object,
  mostListBytes: number,
): Promise<Reply> {
  const { after, limit } = rangeOf(sent)
  async function* details(): AsyncGenerator<readonly Detail[], void, undefined> {
    for await (const item of whileThere(walk(after), { whenGone })) yield [[item.id, infoOf(item)]]
  }
  return { ...(await listedDetails(atMost(limit, details()), mostListBytes)), paged: true }
}

export async function listedByName(
  { sent, whenGone }: Listing,
  items: Parameters<typeof namesInOrder>[0],
  mostListBytes: number,
): Promise<Reply> {
  const names = await namesInOrder(whileThere(items, { whenGone }), rangeOf(sent))
  return { ...(await listedNames(names, mostListBytes)), paged: true }
}
