import { Buffer } from 'node:buffer'
import { fail, refuse } from '../errors.ts'
import { Limiter } from '../lib/concurrency/limiter.ts'
import { LongText } from '../lib/concurrency/long-text.ts'
import { LongWork } from '../lib/concurrency/long-work.ts'

/**
 * The client of a list. `listener` is called when it disconnects; the returned function stops listening.
 */
export type ListClient = { whenGone(listener: () => void): () => void }

/** A list reads this many items without waiting for others. */
const shortListItems = 500
/** Each waiting list holds a request, and the number of requests is limited for all clients together. */
const maxWaiting = 64

const tooLong = () =>
  refuse(
    'invalid',
    'the list is longer than a response may be: ask for parts of it, with "limit" and "after"',
  )
const overloaded = () => refuse('overloaded', 'server is overloaded')

/**
 * Serializes long lists. Beyond a few pages, one list reads at a time, in order of arrival, so that neither
 * memory nor the latency of other requests grows with the number of listing clients. A list ends when its
 * client disconnects.
 */
export class LongLists {
  readonly #longLists = new Limiter(1, { most: maxWaiting, refusal: overloaded })
  /** A list whose text is longer is refused before it is complete. */
  readonly mostBytes: number

  constructor(mostBytes = Number.POSITIVE_INFINITY) {
    this.mostBytes = mostBytes
  }

  /** Yields the same items, or pages of so many, and lets other work run; waits for other long lists if there are many. */
  async *paced<T>(
    items: AsyncIterable<T>,
    { whenGone }: ListClient,
    countOf: (item: T) => number = () => 1,
  ): AsyncGenerator<T, void, undefined> {
    let isGone = false
    let leave: (() => void) | undefined
    let seen = 0
    const stopListening = whenGone(() => {
      isGone = true
    })
    const work = new LongWork()
    try {
      for await (const item of items) {
        seen += countOf(item)
        if (work.isDue) await work.giveWay()
        if (seen >= shortListItems) leave ??= await this.#longLists.enter()
        if (isGone) throw fail('unavailable', 'the client has disconnected')
        yield item
      }
    } finally {
      leave?.()
      stopListening()
    }
  }
}

/** The text of a list is written into pieces of this size, so that what it is made of is garbage at once. */
const pieceBytes = 65_536

/** The text of one list. */
class Parts {
  readonly #full: Buffer[] = []
  readonly #mostBytes: number
  #piece = Buffer.alloc(0)
  /** How much of the piece is written. */
  #end = 0
  #bytes = 0

  constructor({ mostBytes }: Limits) {
    this.#mostBytes = mostBytes
  }

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  get all(): Buffer[] {
    return [...this.#full, this.#piece.subarray(0, this.#end)]
  }

  /** Throws if the list becomes too long. */
  add(text: string | Buffer): void {
    const length = Buffer.byteLength(text)
    this.#bytes += length
    if (this.#bytes > this.#mostBytes) throw tooLong()
    if (this.#end + length > this.#piece.length) {
      if (this.#end > 0) this.#full.push(this.#piece.subarray(0, this.#end))
      this.#piece = Buffer.allocUnsafeSlow(Math.max(length, pieceBytes))
      this.#end = 0
    }
    this.#end +=
      typeof text === 'string' ? this.#piece.write(text, this.#end) : text.copy(this.#piece, this.#end)
  }
}

type Limits = Pick<LongLists, 'mostBytes'>

/** More names than this are not turned into text at once. */
const namesAtOnce = 2_000

type Listed = { readonly data: { readonly keys: readonly string[] } } | { readonly longData: LongText }

/** Of lists that are kept: the same array is the same text. */
const longTexts = new WeakMap<readonly string[], LongText>()

/**
 * Names, or pages of them, as the data of a list. Many become text in steps while they arrive, so that other work runs meanwhile. An array must
 * not change afterwards: its text lasts as long.
 */
export async function listedNames(
  names: readonly string[] | AsyncIterable<string | readonly string[]>,
  limits: Limits,
): Promise<Listed> {
  if (Symbol.asyncIterator in names) return textOf(names, limits)
  const longData = longTexts.get(names)
  if (longData !== undefined) return { longData }
  const listed = await textOf(slices(names), limits)
  if ('longData' in listed) longTexts.set(names, listed.longData)
  return listed
}

/** More details than these are not turned into text at once. */
const detailsAtOnce = 16

type Detailed =
  | { readonly data: { readonly keys?: readonly string[]; readonly key_info?: object } }
  | { readonly longData: LongText }

/** Names with what is known of each, as the data of a list. Many become text in steps, as names do. */
export async function listedDetails(
  details: AsyncIterable<readonly [name: string, shown: object | LongText]>,
  limits: Limits,
): Promise<Detailed> {
  const work = new LongWork()
  const names: string[] = []
  const parts = new Parts(limits)
  let held: [string, object][] = []
  for await (const [name, shown] of details) {
    const isLong = shown instanceof LongText
    if (held.length === detailsAtOnce || (isLong && held.length > 0)) {
      parts.add(detailsPartOf(held, parts.isEmpty))
      held = []
    }
    if (work.isDue) await work.giveWay()
    names.push(name)
    if (!isLong) held.push([name, shown])
    else for (const part of shown.between(longDetailPrefix(name, parts.isEmpty), '').parts) parts.add(part)
  }
  if (names.length === 0) return { data: {} }
  if (parts.isEmpty) return { data: { keys: names, key_info: Object.fromEntries(held) } }
  parts.add(held.length === 0 ? '}}' : `${detailsPartOf(held, false)}}}`)
  const ofNames = new Parts(limits)
  for (const some of slices(names)) {
    ofNames.add(partOf(some, ofNames.isEmpty))
    if (work.isDue) await work.giveWay()
  }
  return { longData: new LongText([...ofNames.all, ...parts.all]) }
}

const detailsPartOf = (details: readonly (readonly [string, object])[], isFirst: boolean): string =>
  `${detailsPrefix(isFirst)}${membersOf(details)}`

const longDetailPrefix = (name: string, isFirst: boolean): string =>
  `${detailsPrefix(isFirst)}${JSON.stringify(name)}:`

const detailsPrefix = (isFirst: boolean): string => (isFirst ? '],"key_info":{' : ',')

const membersOf = (details: readonly (readonly [string, object])[]): string =>
  details.map(([name, shown]) => `${JSON.stringify(name)}:${JSON.stringify(shown)}`).join(',')

async function textOf(
  arriving: Iterable<readonly string[]> | AsyncIterable<string | readonly string[]>,
  limits: Limits,
): Promise<Listed> {
  const work = new LongWork()
  const parts = new Parts(limits)
  let held: string[] = []
  for await (const one of arriving) {
    const next = typeof one === 'string' ? [one] : one
    if (next.length === 0) continue
    if (held.length + next.length > (parts.isEmpty ? namesAtOnce : 0)) {
      if (held.length > 0) parts.add(partOf(held, parts.isEmpty))
      held = []
    }
    if (work.isDue) await work.giveWay()
    held.push(...next)
  }
  if (parts.isEmpty) return { data: { keys: held } }
  parts.add(`${partOf(held, false)}]}`)
  return { longData: new LongText(parts.all) }
}

const partOf = (names: readonly string[], isFirst: boolean): string =>
  `${isFirst ? '{"keys":[' : ','}${JSON.stringify(names).slice(1, -1)}`

function* slices(names: readonly string[]): Generator<readonly string[], void, undefined> {
  for (let at = 0; at < names.length; at += namesAtOnce) yield names.slice(at, at + namesAtOnce)
}
