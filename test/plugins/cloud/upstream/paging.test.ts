import { expect, test } from 'vitest'
import { z } from 'zod'
import { allPages } from '../../../../src/plugins/cloud/upstream/paging.ts'

const kind = { service: 'directory', operation: 'findApplications', repeatable: true } as const
const item = z.object({ id: z.string().optional(), name: z.string() })

/** The items of a list with these pages, by address, and the addresses that were requested. */
async function listed(pages: Readonly<Record<string, object | undefined>>) {
  const asked: string[] = []
  const names = allPages(kind, item, 'first', async (address, read) => {
    asked.push(address)
    return read({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(pages[address])) })
  }).then((items) => items.map(({ name }) => name))
  return {
    asked,
    ended: await names.then(
      (found) => ({ found }),
      (error: unknown) => ({ error }),
    ),
  }
}

const a = { id: 'A-1', name: 'a' }
const b = { id: 'b-2', name: 'b' }

test.each([null, '', undefined])('a next link of %o ends the list', async (link) => {
  for (const member of ['nextLink', '@odata.nextLink']) {
    const { asked, ended } = await listed({ first: { value: [a, b], [member]: link } })
    expect({ asked, ...ended }).toEqual({ asked: ['first'], found: ['a', 'b'] })
  }
})

test('an item on two pages is listed once, and items without an id are all listed', async () => {
  const noId = { name: 'x' }
  const { ended } = await listed({
    first: { value: [a, noId], nextLink: '2' },
    2: { value: [{ ...a, id: 'a-1' }, noId, b] },
  })
  expect(ended).toEqual({ found: ['a', 'x', 'x', 'b'] })
})

test.each([
  { circle: 'itself', pages: { first: { value: [a], nextLink: 'first' } }, asked: ['first'] },
  {
    circle: 'an earlier one',
    pages: { first: { value: [a], nextLink: '2' }, 2: { value: [b], '@odata.nextLink': 'first' } },
    asked: ['first', '2'],
  },
])('a page that links to $circle fails the list without another request', async ({ pages, asked }) => {
  expect(await listed(pages)).toMatchObject({ asked, ended: { error: { code: 'too_many_results' } } })
})
