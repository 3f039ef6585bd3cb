import { Buffer } from 'node:buffer'
import { fail, refuse } from '../errors.ts'
import { Limiter } from '../lib/concurrency/limiter.ts'
import { pageSize, pagesOf } from '../lib/data/pages.ts'

/**
 * The client of a list. `listener` is called when it disconnects; the returned function stops listening.
 */
export type ListClient = { whenGone(listener: () => void): () => void }

const tooLong = () =>
  refuse(
    'invalid',
    'the list is longer than a response may be: ask for parts of it, with "limit" and "after"',
  )

/** The same items, until the client disconnects: then it throws. */
export async function* whileThere<T>(
  items: AsyncIterable<T>,
  { whenGone }: ListClient,
): AsyncGenerator<T, void, undefined> {
  let isGone = false
  const stopListening = whenGone(() => {
    isGone = true
  })
  try {
    for await (const item of items) {
      if (isGone) throw fail('unavailable', 'the client has disconnected')
      yield item
    }
  } finally {
    stopListening()
  }
}

/** Names as the data of a list, whole or in pages. Throws once their text is longer than a response may be. */
export async function listedNames(
  names: readonly string[] | AsyncIterable<readonly string[]>,
  mostBytes: number,
): Promise<{ readonly data: { readonly keys: readonly string[] } }> {
  if (Symbol.asyncIterator in names) return { data: { keys: await collected(names, mostBytes) } }
  const size = new ListSize(mostBytes)
  for await (const page of pagesOf(names)) size.add(page)
  return { data: { keys: names } }
}

/** A name, and what is known of it. */
export type Detail = readonly [name: string, shown: object]

/** Pages of details, as the data of a list. Throws once it is longer than a response may be. */
export async function listedDetails(
  details: AsyncIterable<readonly Detail[]>,
  mostBytes: number,
): Promise<{ readonly data: { readonly keys?: readonly string[]; readonly key_info?: object } }> {
  const all = await collected(details, mostBytes)
  if (all.length === 0) return { data: {} }
  return { data: { keys: all.map(([name]) => name), key_info: Object.fromEntries(all) } }
}

/** Those of more than a page are collected one at a time, which bounds the memory that lists take. */
const longLists = new Limiter(1, { most: 64, refusal: () => refuse('overloaded', 'server is overloaded') })

async function collected<T>(pages: AsyncIterable<readonly T[]>, mostBytes: number): Promise<T[]> {
  const size = new ListSize(mostBytes)
  const all: T[] = []
  let leave: (() => void) | undefined
  try {
    for await (const page of pages) {
      if (all.length + page.length > pageSize) leave ??= await longLists.enter()
      size.add(page)
      all.push(...page)
    }
    return all
  } finally {
    leave?.()
  }
}

/** The text of a list, in bytes. */
class ListSize {
  #left: number

  constructor(mostBytes: number) {
    this.#left = mostBytes
  }

  add(part: unknown): void {
    this.#left -= Buffer.byteLength(JSON.stringify(part))
    if (this.#left < 0) throw tooLong()
  }
}
