import { Buffer } from 'node:buffer'
import { parentPort } from 'node:worker_threads'
import { yieldToOthers } from '../../lib/system/thread-priority.ts'
import type { StorageFile, StoredRecord } from '../../storage/storage.ts'
import { ThreadReader } from '../../storage/thread-reader.ts'
import { openValue, termOf } from './sealed-value.ts'

/* A thread that decrypts records, a page at a time. opening-thread.ts starts it. */

/** A page of encrypted records. */
export type SealedPage = {
  /** Data keys by term. The thread overwrites them. */
  readonly keys: ReadonlyMap<number, Uint8Array<ArrayBuffer>>
} & (PagePlace | PackedRecords)

/** Where the thread reads it: keys are those of the storage. */
export type PagePlace = {
  readonly file: StorageFile
  readonly prefix: string
  readonly after?: string
  readonly limit: number
}

/** Keys and values behind each other, with their lengths. */
export type PackedRecords = { readonly bytes: Uint8Array<ArrayBuffer>; readonly lengths: readonly number[] }

/** The values as one JSON array; undefined if the page cannot be read, or a value not be opened. */
export type OpenedPage =
  | { readonly values: string; readonly count: number; readonly last: string }
  | undefined

const niceness = 10

const reader = new ThreadReader()

function opened(page: SealedPage): OpenedPage {
  try {
    const records = 'file' in page ? reader.list(page.file, page.prefix, page) : unpacked(page)
    const values = records.map(({ key, value }) => {
      const opener = page.keys.get(termOf(value) ?? 0)
      return opener === undefined ? undefined : openValue(opener, key, value).toString()
    })
    if (values.includes(undefined)) return undefined
    return { values: `[${values.join(',')}]`, count: values.length, last: records.at(-1)?.key ?? '' }
  } catch {
    // where it is opened again, the cause is found and reported
    return undefined
  } finally {
    for (const key of page.keys.values()) key.fill(0)
  }
}

function unpacked({ bytes, lengths }: PackedRecords): Pick<StoredRecord, 'key' | 'value'>[] {
  const buffer = Buffer.from(bytes.buffer)
  const records: Pick<StoredRecord, 'key' | 'value'>[] = []
  for (let [next, at] = [0, 0]; next < lengths.length; next += 2) {
    const valueAt = at + (lengths[next] ?? 0)
    const end = valueAt + (lengths[next + 1] ?? 0)
    records.push({ key: buffer.toString('utf8', at, valueAt), value: buffer.subarray(valueAt, end) })
    at = end
  }
  return records
}

yieldToOthers(niceness)
parentPort?.on('message', (page: SealedPage) => parentPort?.postMessage(opened(page)))
// an unanswered page would wait for ever: the thread ends instead
parentPort?.on('messageerror', (cause) => {
  throw cause
})
