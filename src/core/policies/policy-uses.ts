import { z } from 'zod'
import { KeyedMutex } from '../../lib/concurrency/keyed-mutex.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../records/keyed-hash.ts'
import { deleteOldest } from '../records/oldest-out.ts'
import { ifReadable, recordReader } from '../records/stored-record.ts'
import type { AclOperation } from './acl.ts'

/** A path and an operation that holders of these policies have asked for. */
export type PolicyUse = {
  /** Of the token. */
  readonly namespace: string
  /** Of the token alone. */
  readonly policies: readonly string[]
  /** Empty without one. */
  readonly entity: string
  readonly operation: AclOperation
  /** Relative to the namespace of the token. */
  readonly path: string
}

/** `last`: milliseconds since the epoch. */
export type CountedUse = PolicyUse & { readonly count: number; readonly last: number }

type Parts = {
  /** The core's. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  /** 0 counts nothing. */
  readonly most: number
}

export const keptDays = 30
/** Longer uses are not kept. */
const longest = 2_048
/** After so many new uses, a server looks for the oldest ones. */
const addedBeforeTidying = 500

const usesOf = (namespace: string): string => `of/${namespace}/`
const sinceKey = 'since'

const readUse = recordReader<CountedUse>(
  'use of a policy',
  z.object({
    namespace: z.string(),
    policies: z.array(z.string()),
    entity: z.string(),
    operation: z.string(),
    path: z.string(),
    count: z.number(),
    last: z.number(),
  }),
)
const readSince = recordReader<{ readonly at: number }>('time', z.object({ at: z.number() }))

/**
 * Counts what callers have asked for. Each server notes it in memory and records it about once a minute; the records
 * are shared. docs/contract/what-if.md#policies
 */
export class PolicyUses {
  readonly #parts: Parts
  readonly #since: number
  readonly #mutex = new KeyedMutex()
  /** Noted, and not recorded yet; the least recent first. */
  readonly #waiting = new Map<string, CountedUse>()
  #hash: KeyedHash | undefined
  #added = 0

  constructor(parts: Parts) {
    const view = parts.view.view('policy-uses/', { numbers: 'plain', isUncopied: true })
    this.#parts = { ...parts, view }
    this.#since = parts.clock.now()
  }

  get isOn(): boolean {
    return this.#parts.most > 0
  }

  note(use: PolicyUse): void {
    const key = JSON.stringify([use.namespace, use.entity, use.operation, use.path, use.policies])
    if (this.isOn && key.length <= longest)
      this.#wait(key, { ...use, count: 1, last: this.#parts.clock.now() })
  }

  #wait(key: string, use: CountedUse): void {
    const known = this.#waiting.get(key)
    this.#waiting.delete(key)
    const last = Math.max(known?.last ?? 0, use.last)
    this.#waiting.set(key, { ...use, count: (known?.count ?? 0) + use.count, last })
    const [first] = this.#waiting.keys()
    if (first !== undefined && this.#waiting.size > this.#parts.most) this.#waiting.delete(first)
  }

  /** Records what this server has noted. */
  record(): Promise<void> {
    return this.#mutex.runExclusive('', () => this.#record())
  }

  async #record(): Promise<void> {
    if (this.#waiting.size === 0) return
    const { view, random } = this.#parts
    this.#hash ??= (await openKeyedHashes(view, random, 'keys', ['use'])).use
    await view.putIfAbsent(sinceKey, { at: this.#since })
    for await (const keys of pagesOf([...this.#waiting.keys()])) {
      const page = keys.flatMap((key) => this.#taken(key))
      const written = await Promise.allSettled(page.map(([key, use]) => ifReadable(this.#add(key, use))))
      for (const [at, [key, use]] of page.entries())
        if (written[at]?.status === 'rejected') this.#wait(key, use)
      const failed = written.find((one) => one.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    }
    if (this.#added >= Math.min(addedBeforeTidying, this.#parts.most)) await this.tidy()
  }

  /** A use that waits, with all that was counted until now. Empty if it has made room for others. */
  #taken(key: string): (readonly [key: string, use: CountedUse])[] {
    const use = this.#waiting.get(key)
    this.#waiting.delete(key)
    return use === undefined ? [] : [[key, use]]
  }

  async #add(text: string, use: CountedUse): Promise<void> {
    const key = usesOf(use.namespace) + this.#hash?.(text, 'base64url')
    let isNew = false
    await this.#parts.view.update(key, (stored) => {
      const before = stored === undefined ? undefined : readUse(stored)
      isNew = before === undefined
      const isForgotten = before === undefined || before.last < this.#oldest()
      if (isForgotten) return use
      return { ...use, count: before.count + use.count, last: Math.max(before.last, use.last) }
    })
    if (isNew) this.#added += 1
  }

  /** Since when everything that fits is recorded, in milliseconds since the epoch. */
  async since(): Promise<number> {
    const stored = this.isOn ? await this.#parts.view.get(sinceKey) : undefined
    return Math.max(stored === undefined ? this.#since : readSince(stored).at, this.#oldest())
  }

  /** The uses of the last days, by all servers, in pages. */
  async *recent(): AsyncGenerator<readonly CountedUse[], void, undefined> {
    if (!this.isOn) return
    const oldest = this.#oldest()
    for await (const page of this.#stored())
      yield page.map(({ use }) => use).filter(({ last }) => last >= oldest)
  }

  /** Records that cannot be read are left out. */
  async *#stored(): AsyncGenerator<
    readonly { readonly key: string; readonly use: CountedUse }[],
    void,
    undefined
  > {
    const { view } = this.#parts
    for await (const keys of view.keyPages('of/')) {
      const found = await Promise.all(
        keys.map((key) =>
          ifReadable(
            view.get(key).then((value) => (value === undefined ? undefined : { key, use: readUse(value) })),
          ),
        ),
      )
      yield found.filter((one) => one !== undefined)
    }
  }

  /** Deletes uses that are too old, and the least recent beyond the bound; all of them if none are to be kept. */
  async tidy(): Promise<void> {
    this.#added = 0
    const { view, most } = this.#parts
    if (!this.isOn) return this.#forget()
    await deleteOldest(view, this.#lastTimes(), { since: this.#oldest(), most })
  }

  async *#lastTimes() {
    for await (const page of this.#stored()) yield page.map(({ key, use }) => ({ key, last: use.last }))
  }

  async #forget(): Promise<void> {
    const { view } = this.#parts
    if ((await view.listKeys('', { limit: 1 })).length > 0) await view.deletePrefix('')
  }

  async removeNamespace(namespace: string): Promise<void> {
    await this.#parts.view.deletePrefix(usesOf(namespace))
  }

  #oldest(): number {
    return this.#parts.clock.now() - keptDays * 86_400_000
  }
}
