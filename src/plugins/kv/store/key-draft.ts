import type { ViewEntry } from '../../../core/barrier/view.ts'
import { letOthersRun, pageSize } from '../../../lib/data/pages.ts'
import type { Head, Version } from './key-record.ts'

export const headPrefix = 'k/'
export const versionPrefix = 'v/'
export const dataPrefix = 'd/'
export const remainsPrefix = 'gone/'
/** Keys without a version: heads are counted without being read. */
export const barePrefix = 'bare/'

const digits = 10
const rowKey = (prefix: string, id: string, number: number): string =>
  `${prefix}${id}/${String(number).padStart(digits, '0')}`

export const versionNumberIn = (key: string): number => Number(key.slice(key.lastIndexOf('/') + 1))

export const versionKey = (id: string, number: number): string => rowKey(versionPrefix, id, number)

/** The record of the data of an earlier version, if that is long. */
export const dataKey = (id: string, number: number): string => rowKey(dataPrefix, id, number)

/** Longer data of an earlier version has a record of its own: who needs the version only does not read it. */
const longData = 4_096

type EarlierRows = {
  readonly head: Head
  readonly row: readonly [key: string, version: Version | undefined]
  /** If its record changes. */
  readonly data?: readonly [key: string, data: string | undefined]
}

/** The records of an earlier version; undefined deletes it. */
export function earlierRows(head: Head, number: number, version: Version | undefined): EarlierRows {
  const key = versionKey(head.id, number)
  const { lastApart = 0 } = head
  if (version?.data !== undefined && version.data.length > longData) {
    const { data, ...rest } = version
    return {
      head: { ...head, lastApart: Math.max(lastApart, number) },
      row: [key, { ...rest, isApart: true }],
      data: [dataKey(head.id, number), data],
    }
  }
  const keepsData = version !== undefined && !version.destroyed
  if (keepsData || number > lastApart) return { head, row: [key, version] }
  return { head, row: [key, version], data: [dataKey(head.id, number), undefined] }
}

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

/** The versions of a key that has more are removed in the background. */
const removedAtOnce = 1_000

/**
 * A key while a change is decided: its head, and those of its earlier versions that the change needs. Writes
 * nothing itself.
 */
export class KeyDraft {
  head: Head | undefined
  /** When the change happens, in milliseconds since the epoch. */
  readonly now: number
  readonly also: ViewEntry[] = []
  readonly remains: string[] = []
  readonly #before: Head | undefined
  readonly #rows = new Map<string, Version | undefined>()
  readonly #dataRows = new Map<string, string | undefined>()
  readonly #left: { readonly head: Head; readonly first: number; readonly below: number }[] = []
  readonly #loaded: Map<string, Version>

  constructor(head: Head | undefined, loaded: Map<string, Version>, now: number) {
    this.head = head
    this.#before = head
    this.#loaded = loaded
    this.now = now
  }

  find(number: number): Version | undefined {
    const { head } = this
    if (head === undefined || number < Math.max(1, head.oldest) || number > head.current) return undefined
    if (number === head.current) return head.last
    const key = versionKey(head.id, number)
    if (!this.#rows.has(key)) return this.#loaded.get(key)
    const version = this.#rows.get(key)
    if (version?.isApart !== true) return version
    const data = this.#dataRows.get(dataKey(head.id, number))
    return data === undefined ? version : { ...version, data }
  }

  /** Replaces a version; undefined deletes one that is not the current one. */
  set(head: Head, number: number, version: Version | undefined): void {
    if (number < head.current) this.#setEarlier(head, number, version)
    else if (version !== undefined) this.head = { ...head, last: version }
  }

  /** Deletes the versions from `first` on that are below a number. */
  leaveOut(head: Head, first: number, below: number): void {
    this.#left.push({ head, first, below })
  }

  remove(): void {
    const { head } = this
    if (head === undefined) return
    this.head = undefined
    const first = Math.max(1, head.oldest)
    if (head.current - first > removedAtOnce) {
      this.remains.push(head.id)
      this.also.push({ key: remainsPrefix + head.id, value: true, isUncopied: true })
    } else {
      for (let number = first; number < head.current; number += 1) this.#setRows(head, number, undefined)
    }
  }

  #setEarlier(head: Head, number: number, version: Version | undefined): void {
    const changed = this.#setRows(head, number, version)
    if (changed !== head) this.head = changed
  }

  #setRows(before: Head, number: number, version: Version | undefined): Head {
    const { head, row, data } = earlierRows(before, number, version)
    this.#rows.set(...row)
    if (data !== undefined) this.#dataRows.set(...data)
    return head
  }

  /** The records that change besides the head. Once, when everything is decided. */
  async entries(): Promise<ViewEntry[]> {
    for (const { head, first, below } of this.#left)
      for (let number = first; number < below; number += 1) {
        this.#setRows(head, number, undefined)
        if ((number - first) % pageSize === pageSize - 1) await letOthersRun()
      }
    const rows = [...this.#rows, ...this.#dataRows].map(
      ([key, value]): ViewEntry => ({ key, value, isUncopied: true }),
    )
    return [...rows, ...bareEntries(this.#before, this.head), ...this.also]
  }
}
