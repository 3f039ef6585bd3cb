import { refuse } from '../../errors.ts'
import type { FieldMap } from '../../lib/text/coercion.ts'
import type { NamespaceRecord } from './namespace.ts'

type Metadata = NamespaceRecord['custom_metadata']

const maxKeys = 64
const maxKeyLength = 128
const maxValueLength = 512

/**
 * Parses `custom_metadata` of a create or replace call; if absent, it is empty. Throws the errors of
 * docs/contract/namespaces.md#managing-namespaces
 */
export function readMetadata(given: FieldMap | null | undefined): Metadata {
  const metadata: Record<string, string> = Object.create(null)
  for (const [key, value] of Object.entries(given ?? {})) {
    if (typeof value !== 'string') throw refuse('invalid', 'custom_metadata values must be strings')
    metadata[key] = value
  }
  return checked(metadata)
}

/**
 * The metadata after a merge patch. `null` deletes a key; a patch that is `null` deletes all keys, and an
 * undefined one changes nothing. docs/contract/namespaces.md#managing-namespaces
 */
export function patchedMetadata(current: Metadata, patch: FieldMap | null | undefined): Metadata {
  if (patch === null) return {}
  const metadata: Record<string, string> = Object.assign(Object.create(null), current)
  for (const [key, value] of Object.entries(patch ?? {})) {
    if (value !== null && typeof value !== 'string')
      throw refuse('invalid', 'metadata patch can only have string or null values')
    if (value === null) delete metadata[key]
    else metadata[key] = value
  }
  return checked(metadata)
}

/** Limits the metadata, because it is kept in memory. */
function checked(metadata: Record<string, string>): Metadata {
  const entries = Object.entries(metadata)
  if (entries.length > maxKeys)
    throw refuse('invalid', `custom_metadata cannot have more than ${maxKeys} keys`)
  for (const [key, value] of entries) {
    if (key.length > maxKeyLength)
      throw refuse('invalid', `custom_metadata keys cannot be longer than ${maxKeyLength} characters`)
    if (value.length > maxValueLength)
      throw refuse('invalid', `custom_metadata values cannot be longer than ${maxValueLength} characters`)
  }
  return metadata
}
