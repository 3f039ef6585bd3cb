import { refuse } from '../../../errors.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { parseWholeNumber } from '../../../lib/text/go-numbers.ts'
import { isJsonNumber, type JsonValue } from '../../../lib/text/json.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { KeyDraft } from './key-draft.ts'
import { type Actor, type Head, isGone, type Version } from './key-record.ts'
import { type KvConfig, keptVersions, versionLifetime } from './kv-config.ts'

export const newHead = (id: string, now: number, by: Actor): Head => ({
  id,
  current: 0,
  oldest: 0,
  created: formatTime(now),
  updated: formatTime(now),
  updatedBy: by,
  maxVersions: 0,
  casRequired: false,
  deleteVersionAfter: 0,
  customMetadata: null,
  metadataCasRequired: false,
  metadataVersion: 0,
  changes: 0,
})

export type NewVersion = {
  /** JSON text. */
  readonly data: string
  readonly by: Actor
  readonly config: KvConfig
  /** The id of the key, if it does not exist yet. */
  readonly id: string
}

/** Adds a version. The versions that leave the window go in the same step. */
export function append(draft: KeyDraft, { data, by, config, id }: NewVersion): Head {
  const { now } = draft
  const before = draft.head ?? newHead(id, now, by)
  const current = before.current + 1
  const kept = keptVersions(config, before)
  const isFull = current - before.oldest >= kept
  const head: Head = {
    ...before,
    current,
    oldest: isFull ? current - kept + 1 : before.oldest,
    updated: formatTime(now),
    updatedBy: by,
    changes: before.changes + 1,
    last: {
      created: formatTime(now),
      deletion: deletionTime(now, before, config),
      destroyed: false,
      data,
      createdBy: by,
    },
  }
  draft.head = head
  if (before.last !== undefined) draft.set(head, before.current, before.last)
  if (isFull) draft.leaveOut(draft.head, Math.max(1, before.oldest), head.oldest)
  return draft.head
}

/** When a version that begins to live now is deleted; empty for never. */
function deletionTime(now: number, head: Head, config: KvConfig): string {
  const seconds = versionLifetime(config, head)
  return seconds === 0 ? '' : formatTime(now + seconds * 1000)
}

export const softDelete = (draft: KeyDraft, numbers: Iterable<number>, by: Actor): Promise<void> =>
  changeVersions(draft, numbers, (version) =>
    isGone(version, draft.now) ? version : { ...version, deletion: formatTime(draft.now), deletedBy: by },
  )

/** Gives deleted versions, and living ones, a whole lifetime. */
export const undelete = (draft: KeyDraft, numbers: Iterable<number>, config: KvConfig): Promise<void> =>
  changeVersions(draft, numbers, (version, head) => {
    const deletion = deletionTime(draft.now, head, config)
    const { deletedBy, ...rest } = version
    const isSame = deletedBy === undefined && deletion === version.deletion
    return version.destroyed || isSame ? version : { ...rest, deletion }
  })

export const destroy = (draft: KeyDraft, numbers: Iterable<number>): Promise<void> =>
  changeVersions(draft, numbers, (version) => {
    if (version.destroyed) return version
    const { data, isApart, ...rest } = version
    return { ...rest, destroyed: true }
  })

async function changeVersions(
  draft: KeyDraft,
  numbers: Iterable<number>,
  change: (version: Version, head: Head) => Version,
): Promise<void> {
  let changes = 0
  for await (const page of pagesOf([...new Set(numbers)]))
    for (const number of page) {
      const { head } = draft
      const version = draft.find(number)
      if (head === undefined || version === undefined) continue
      const changed = change(version, head)
      if (changed === version) continue
      changes += 1
      draft.set(head, number, changed)
    }
  if (draft.head !== undefined && changes > 0)
    draft.head = { ...draft.head, updated: formatTime(draft.now), changes: draft.head.changes + changes }
}

/** Check-and-set. docs/contract/kv.md#check-and-set */
export function checkCas(
  head: Head | undefined,
  options: Readonly<Record<string, JsonValue>> | null | undefined,
  config: KvConfig,
): void {
  const sent = options?.['cas']
  if (sent === undefined) {
    if (config.casRequired || head?.casRequired === true)
      throw refuse('invalid', 'check-and-set parameter required for this call')
    return
  }
  if (casNumber(sent) !== (head?.current ?? 0))
    throw refuse('invalid', 'check-and-set parameter did not match the current version')
}

function casNumber(sent: JsonValue): number {
  if (sent === null || sent === '' || sent === false) return 0
  if (sent === true) return 1
  const text = isJsonNumber(sent) ? sent.rawJSON : sent
  const parsed = typeof text === 'string' ? parseWholeNumber(text) : { error: 'invalid syntax' }
  if ('error' in parsed) throw refuse('invalid', 'error parsing check-and-set parameter')
  return parsed.number
}
