import { z } from 'zod'
import { customMetadataFaults } from '../../../core/identity/custom-metadata.ts'
import { causeList, refuse } from '../../../errors.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import { type FieldMap, toText } from '../../../lib/text/coercion.ts'
import { boolField, durationField, intField, mapField } from '../../../lib/text/fields.ts'
import { goDuration } from '../../../lib/text/go-duration.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { KeyDraft } from './key-draft.ts'
import type { Actor, Head, Version } from './key-record.ts'
import type { WholeKey } from './keys.ts'
import { checkMaxVersions, type KvConfig, keptVersions, versionLifetime } from './kv-config.ts'
import { newHead } from './version-changes.ts'

/** An absent field keeps its value. docs/contract/kv.md#metadata */
export const metadataInput = z.object({
  max_versions: intField
    .optional()
    .describe('Versions kept; the larger of this and the setting of the mount counts')
    .meta({ examples: [5] }),
  cas_required: boolField.optional().describe('Every write of data must name the current version'),
  delete_version_after: durationField
    .optional()
    .describe('Lifetime of new versions; the shorter of this and the setting of the mount counts')
    .meta({ examples: ['720h'] }),
  custom_metadata: mapField
    .optional()
    .describe('Free text by key, shown with each version; replaced as a whole, or merged by PATCH')
    .meta({ examples: [{ owner: 'team-a' }] }),
  metadata_cas_required: boolField
    .optional()
    .describe('Every write of this metadata must name its current version'),
  metadata_cas: intField
    .optional()
    .describe('The change is refused unless the metadata has this version; 0 for a new key'),
})

type Input = z.output<typeof metadataInput>
type Sent = Readonly<Record<string, JsonValue>>

export const setsMetadata = ({ metadata_cas, ...settable }: Input, sent: Sent): boolean =>
  Object.keys(settable).length > 0 || sent['delete_version_after'] === null

export function overruled(input: Input, config: KvConfig): string[] {
  const names = [
    ...(input.cas_required === false && config.casRequired ? ['cas_required'] : []),
    ...(input.metadata_cas_required === false && config.metadataCasRequired ? ['metadata_cas_required'] : []),
  ]
  return names.map(
    (name) => `"${name}" set to false, but is mandated by backend config. This value will be ignored.`,
  )
}

type Settings = Pick<
  Head,
  'maxVersions' | 'casRequired' | 'deleteVersionAfter' | 'customMetadata' | 'metadataCasRequired'
>

/** The settings that a write names. Throws for values that cannot be stored. */
export function sentSettings(input: Input): Partial<Settings> {
  checkMaxVersions(input.max_versions)
  return {
    ...(input.max_versions !== undefined && { maxVersions: input.max_versions }),
    ...(input.cas_required !== undefined && { casRequired: input.cas_required }),
    ...(input.delete_version_after !== undefined && { deleteVersionAfter: input.delete_version_after }),
    ...(input.custom_metadata !== undefined && {
      customMetadata: pairsOf(textsOf(input.custom_metadata ?? {})),
    }),
    ...(input.metadata_cas_required !== undefined && { metadataCasRequired: input.metadata_cas_required }),
  }
}

/** The settings that a merge patch changes. Throws for values that cannot be stored. */
export function patchedSettings(before: Head['customMetadata'], input: Input, sent: Sent): Partial<Settings> {
  const { custom_metadata: patch, ...others } = input
  return {
    ...sentSettings(others),
    ...(sent['delete_version_after'] === null && { deleteVersionAfter: 0 }),
    ...(patch !== undefined && { customMetadata: patchedPairs(before, patch) }),
  }
}

function patchedPairs(before: Head['customMetadata'], patch: FieldMap | null): Head['customMetadata'] {
  if (patch === null) return null
  const merged = new Map(before ?? [])
  const given: FieldMap = Object.create(null)
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else given[key] = value
  }
  for (const [key, text] of Object.entries(textsOf(given))) merged.set(key, text)
  return pairsOf(recordOf([...merged]))
}

/** Numbers and flags become text. */
function textsOf(given: FieldMap): Record<string, string> {
  const texts: Record<string, string> = Object.create(null)
  for (const [key, value] of Object.entries(given)) {
    const text = toText(value)
    if ('error' in text) throw refuse('invalid', `custom_metadata validation failed: ${text.error}`)
    texts[key] = text.value
  }
  return texts
}

function pairsOf(texts: Record<string, string>): Head['customMetadata'] {
  const faults = customMetadataFaults(texts)
  if (faults.length > 0)
    throw refuse('invalid', causeList(...faults.map((text) => `custom_metadata validation failed: ${text}`)))
  const pairs = Object.entries(texts)
  return pairs.length === 0 ? null : pairs
}

/** Without a prototype, so that any text may be a key. */
function recordOf(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const record: Record<string, string> = Object.create(null)
  for (const [key, text] of pairs) record[key] = text
  return record
}

/** Check-and-set of metadata. docs/contract/kv.md#metadata */
export function checkMetadataCas(
  head: Head | undefined,
  { metadata_cas: sent }: Input,
  config: KvConfig,
): void {
  if (sent === undefined) {
    if (config.metadataCasRequired || head?.metadataCasRequired === true)
      throw refuse('invalid', 'metadata check-and-set parameter required for this call')
    return
  }
  if (head === undefined && sent !== 0)
    throw refuse('invalid', 'metadata_cas must be 0 when creating new metadata')
  if (head !== undefined && sent !== head.metadataVersion)
    throw refuse('invalid', 'metadata check-and-set parameter does not match the current version')
}

/** Changes the settings of a key, which is created with this id if there is none. */
export function setMetadata(
  draft: KeyDraft,
  settings: Partial<Settings>,
  { id, by }: { readonly id: string; readonly by: Actor },
): void {
  const head = draft.head ?? newHead(id, draft.now, by)
  draft.head = {
    ...head,
    ...settings,
    updated: formatTime(draft.now),
    updatedBy: by,
    metadataVersion: head.metadataVersion + 1,
    changes: head.changes + 1,
  }
}

const shownCustomMetadata = ({ customMetadata }: Head): Record<string, string> | null =>
  customMetadata === null ? null : recordOf(customMetadata)

/** What a read of metadata shows. docs/contract/kv.md#metadata */
export async function shownMetadata({ head, versions }: WholeKey, config: KvConfig): Promise<object> {
  const shown: [number, object][] = []
  for await (const page of pagesOf([...versions]))
    shown.push(...page.map(([number, version]): [number, object] => [number, shownEntry(version)]))
  return { ...shownSettings(head, config), versions: Object.fromEntries(shown) }
}

function shownSettings(head: Head, config: KvConfig) {
  return {
    cas_required: head.casRequired,
    created_time: head.created,
    current_metadata_version: head.metadataVersion,
    current_version: head.current,
    custom_metadata: shownCustomMetadata(head),
    delete_version_after: goDuration(head.deleteVersionAfter),
    effective_delete_version_after: goDuration(versionLifetime(config, head)),
    effective_max_versions: keptVersions(config, head),
    last_updated_by: shownActor(head.updatedBy),
    max_versions: head.maxVersions,
    metadata_cas_required: head.metadataCasRequired,
    oldest_version: head.oldest,
    updated_time: head.updated,
  }
}

const shownEntry = ({ created, deletion, destroyed, createdBy, deletedBy }: Version) => ({
  created_by: shownActor(createdBy),
  created_time: created,
  deleted_by: deletedBy === undefined ? null : shownActor(deletedBy),
  deletion_time: deletion,
  destroyed,
})

const shownActor = ({ actor, client_id, entity_id, operation }: Actor) => ({
  actor,
  client_id: client_id ?? entity_id,
  entity_id,
  operation,
})

/** What writes and reads show of a version. */
export const shownVersion = (head: Head, number: number, { created, deletion, destroyed }: Version) => ({
  created_time: created,
  custom_metadata: shownCustomMetadata(head),
  deletion_time: deletion,
  destroyed,
  version: number,
})
