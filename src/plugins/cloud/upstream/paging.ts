import { z } from 'zod'
import { readAnswer, type RequestKind, type UpstreamAnswer } from './answer.ts'
import { UpstreamError } from './upstream-error.ts'

const mostItems = 200_000
const mostPages = 5_000

/**
 * All items of a list, page after page; `fetch` refuses an address that is not the service's own, and gives back what it could read. A list that does
 * not end is an error. Contract cloud-engine §3.4, DEV-20.
 */
export async function allPages<Item extends z.ZodType>(
  kind: RequestKind,
  item: Item,
  first: string,
  fetch: <Page>(address: string, read: (answer: UpstreamAnswer) => Page) => Promise<Page>,
): Promise<z.output<Item>[]> {
  const schema = z.object({ value: z.array(item), '@odata.nextLink': z.string().optional(), nextLink: z.string().nullish() })
  const items: z.output<Item>[] = []
  let address: string | undefined = first
  for (let pages = 0; address !== undefined; pages++) {
    if (pages === mostPages || items.length > mostItems) {
      throw new UpstreamError({ ...kind, status: 200, code: 'too_many_results', text: 'the list does not end' })
    }
    const page: z.output<typeof schema> = await fetch(address, (answer) => readAnswer(kind, answer, schema))
    for (const found of page.value) items.push(found)
    address = page['@odata.nextLink'] ?? page.nextLink ?? undefined
  }
  return items
}
