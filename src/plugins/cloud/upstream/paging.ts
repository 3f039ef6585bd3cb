import { z } from 'zod'
import { type RequestKind, readAnswer, type UpstreamAnswer } from './answer.ts'
import { UpstreamError } from './upstream-error.ts'

const mostItems = 200_000
const mostPages = 5_000

/**
 * Each item once, even if it moves to another page meanwhile. `fetch` must refuse addresses of other services. A
 * list that does not end is an error. docs/contract/cloud.md#looking-up-roles
 */
export async function allPages<Item extends z.ZodType>(
  kind: RequestKind,
  item: Item,
  first: string,
  fetch: <Page>(address: string, read: (answer: UpstreamAnswer) => Page) => Promise<Page>,
): Promise<z.output<Item>[]> {
  const schema = z.object({
    value: z.array(item),
    '@odata.nextLink': z.string().nullish(),
    nextLink: z.string().nullish(),
  })
  const items: z.output<Item>[] = []
  const seen = new Set<string>()
  const ids = new Set<string>()
  for (let address = first; address !== ''; ) {
    if (seen.has(address) || seen.size === mostPages || items.length > mostItems)
      throw new UpstreamError({
        ...kind,
        status: 200,
        code: 'too_many_results',
        text: 'the list does not end',
      })
    seen.add(address)
    const page: z.output<typeof schema> = await fetch(address, (answer) => readAnswer(kind, answer, schema))
    for (const found of page.value) {
      const id = idOf(found)
      if (id !== undefined && ids.has(id)) continue
      if (id !== undefined) ids.add(id)
      items.push(found)
    }
    // an empty link means the last page
    address = page['@odata.nextLink'] || page.nextLink || ''
  }
  return items
}

const idOf = (item: unknown): string | undefined =>
  typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string' && item.id !== ''
    ? item.id.toLowerCase()
    : undefined
