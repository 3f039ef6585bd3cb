import { Buffer } from 'node:buffer'
import { ServiceError } from '../errors.ts'
import { pageSize, pagesOf } from '../lib/data/pages.ts'
import type { Group, Step } from './group.ts'
import { type BatchEntry, type Change, keep, type WriteOptions } from './storage.ts'

/** Number of keys that one step of `deletePrefix` deletes. */
export const deletesPerStep = 500

export const updateStep = (key: string, change: Change, options?: WriteOptions): Step<void> => ({
  keys: [key],
  seesRows: true,
  run: (group) => {
    const next = change(group.read(key)?.value)
    if (next !== keep && next !== undefined) checkLength(key)
    if (next !== keep) group.put(key, next, options)
  },
})

export const writeStep = (batch: readonly BatchEntry[]): Step<boolean> => ({
  keys: batch.map(({ key }) => key),
  seesRows: batch.some(
    ({ value, expect }) => expect !== undefined && (expect !== 'absent' || value === undefined),
  ),
  run: (group) => {
    if (!isAllowed(batch, group)) return false
    putAll(batch, group)
    return true
  },
  ...(batch.length > pageSize && { runInPages: (group: Group) => writtenInPages(batch, group) }),
})

async function writtenInPages(batch: readonly BatchEntry[], group: Group): Promise<boolean> {
  for await (const page of pagesOf(batch)) if (!isAllowed(page, group)) return false
  for await (const page of pagesOf(batch)) putAll(page, group)
  return true
}

/** Throws for a key that is too long. */
function isAllowed(entries: readonly BatchEntry[], group: Group): boolean {
  if (!entries.every((entry) => isAsExpected(group, entry))) return false
  for (const { key, value } of entries) if (value !== undefined) checkLength(key)
  return true
}

function putAll(entries: readonly BatchEntry[], group: Group): void {
  for (const { key, value, expect, keepsRevision, isUncopied } of entries) {
    const kept = keepsRevision === true && typeof expect === 'number' ? expect : undefined
    group.put(key, value, { kept, ...(isUncopied && { isUncopied }) })
  }
}

export const deleteStep = (prefix: string, options?: WriteOptions): Step<number> => ({
  keys: [],
  prefix,
  seesRows: true,
  run: (group) => {
    const keys = group.keysUnder(prefix, deletesPerStep)
    for (const key of keys) group.put(key, undefined, options)
    return keys.length
  },
})

function isAsExpected(group: Group, { key, expect }: BatchEntry): boolean {
  if (expect === undefined) return true
  const record = group.read(key)
  return expect === 'absent' ? record === undefined : record?.revision === expect
}

/** What an index entry of PostgreSQL holds; every adapter keeps to it. docs/storage.md */
const maxKeyBytes = 2_600

/** Refuses to store a key that is too long. Reading and deleting one is no mistake: it is absent. */
function checkLength(key: string): void {
  if (key.length > maxKeyBytes / 4 && Buffer.byteLength(key) > maxKeyBytes)
    throw new ServiceError('invalid', `a name is too long: at most ${maxKeyBytes} bytes can be stored`)
}

/** Refuses ill-formed text: UTF-8 would change it, so that two keys could become equal. */
export function checkKey(key: string): void {
  if (!key.isWellFormed()) throw new ServiceError('invalid', 'a name is not well-formed Unicode text')
}
