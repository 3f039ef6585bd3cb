import { refuse } from '../../errors.ts'
import type { FieldMap } from '../../lib/coercion.ts'
import type { NamespaceRecord } from './namespace.ts'

type Metadata = NamespaceRecord['custom_metadata']

const mostKeys = 64
const longestKey = 128
const longestValue = 512

/**
 * `custom_metadata` of a create or replace call; none is the empty one. Throws the refusals of
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
 * The metadata after a merge patch: `null` deletes a key, or with undefined and null for the whole, nothing
 * or everything. docs/contract/namespaces.md#managing-namespaces
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

/** It is all kept in memory. */
function checked(metadata: Record<string, string>): Metadata {
  const entries = Object.entries(metadata)
  if (entries.length > mostKeys)
    throw refuse('invalid', `custom_metadata cannot have more than ${mostKeys} keys`)
  for (const [key, value] of entries) {
    if (key.length > longestKey)
      throw refuse('invalid', `custom_metadata keys cannot be longer than ${longestKey} characters`)
    if (value.length > longestValue)
      throw refuse('invalid', `custom_metadata values cannot be longer than ${longestValue} characters`)
  }
  return metadata
}
