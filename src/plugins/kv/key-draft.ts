import type { ViewEntry } from '../../core/barrier/view.ts'
import type { Head, Version } from './key-record.ts'

/** The records of a key begin with these, in the view of its mount. */
export const headPrefix = 'k/'
export const versionPrefix = 'v/'
export const remainsPrefix = 'gone/'
/** Keys without a version: heads are counted without being read. */
export const barePrefix = 'bare/'

const digits = 10
const rowKey = (id: string, number: number): string =>
  `${versionPrefix}${id}/${String(number).padStart(digits, '0')}`

/** The number of the version in a record with this key. */
export const versionNumberIn = (key: string): number => Number(key.slice(key.lastIndexOf('/') + 1))

/** The record of an earlier version. */
export const versionKey = rowKey

/** The id of a key that has no version. */
const bareId = (head: Head | undefined): string | undefined => (head?.current === 0 ? head.id : undefined)

/** The records that say whether a key has no version. */
export function bareEntries(before: Head | undefined, now: Head | undefined): ViewEntry[] {
  const [left, come] = [bareId(before), bareId(now)]
  if (left === come) return []
  return [
    ...(left === undefined ? [] : [{ key: barePrefix + left, value: undefined, isUncopied: true as const }]),
    ...(come === undefined ? [] : [{ key: barePrefix + come, value: true, isUncopied: true as const }]),
  ]
}

/** A key with more versions than this is removed in the background. */
const removedAtOnce = 1_000

/**
 * A key while a change is decided: its head, and those of its earlier versions that the change needs. Writes
 * nothing itself.
 */
export class KeyDraft {
  head: Head | undefined
  /** When the change happens, in milliseconds since the epoch. */
  readonly now: number
  /** Further records to write in the same step. */
  readonly also: ViewEntry[] = []
  /** Ids of removed keys whose versions are deleted later. */
  readonly remains: string[] = []
  readonly #before: Head | undefined
  readonly #rows = new Map<string, Version | undefined>()
  readonly #loaded: Map<string, Version>

  constructor(head: Head | undefined, loaded: Map<string, Version>, now: number) {
    this.head = head
    this.#before = head
    this.#loaded = loaded
    this.now = now
  }

  /** Undefined if there is no such version. */
  find(number: number): Version | undefined {
    const { head } = this
    if (head === undefined || number < 1 || number > head.current) return undefined
    if (number === head.current) return head.last
    const key = rowKey(head.id, number)
    return this.#rows.has(key) ? this.#rows.get(key) : this.#loaded.get(key)
  }

  /** Replaces a version; undefined deletes one that is not the current one. */
  set(head: Head, number: number, version: Version | undefined): void {
    if (number < head.current) this.#rows.set(rowKey(head.id, number), version)
    else if (version !== undefined) this.head = { ...head, last: version }
  }

  /** Deletes the key with all its versions. */
  remove(): void {
    const { head } = this
    if (head === undefined) return
    this.head = undefined
    const first = Math.max(1, head.oldest)
    if (head.current - first > removedAtOnce) {
      this.remains.push(head.id)
      this.also.push({ key: remainsPrefix + head.id, value: true, isUncopied: true })
    } else {
      for (let number = first; number < head.current; number += 1)
        this.#rows.set(rowKey(head.id, number), undefined)
    }
  }

  /** The records that change besides the head. */
  entries(): ViewEntry[] {
    const rows = [...this.#rows].map(([key, value]): ViewEntry => ({ key, value, isUncopied: true }))
    return [...rows, ...bareEntries(this.#before, this.head), ...this.also]
  }

  /** A copy, to which the draft can be set back. */
  mark() {
    return { head: this.head, rows: [...this.#rows], also: this.also.length, remains: this.remains.length }
  }

  /** Undoes what was changed since `mark`. */
  reset({ head, rows, also, remains }: ReturnType<KeyDraft['mark']>): void {
    this.head = head
    this.#rows.clear()
    for (const [key, value] of rows) this.#rows.set(key, value)
    this.also.length = also
    this.remains.length = remains
  }
}
