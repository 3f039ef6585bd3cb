import { ApiError, dataOrNull } from '../../api/errors.ts'
import { readMetadata, readSecret, type Values } from './calls.ts'
import { endpointPath, type SecretPlace } from './place.ts'

/** A draft that was not saved, because somebody else has written since it was begun. */
export type Conflict = {
  /** The values that the draft began with. */
  readonly base: Values
  readonly mine: Values
  /** The current values: none if they are deleted, undefined if the token may not read them. */
  readonly theirs: Values | undefined
  /** The current version; 0 if the secret is gone. */
  readonly version: number
  /** The mount keeps no versions. */
  readonly isFirst?: boolean
  readonly at: string | undefined
  /** Who wrote it, if the token may read the metadata. */
  readonly by: string | undefined
}

export const isConflict = (refusal: unknown): boolean =>
  refusal instanceof ApiError &&
  refusal.errors.includes('check-and-set parameter did not match the current version')

export const isMetadataConflict = (refusal: unknown): boolean =>
  refusal instanceof ApiError &&
  refusal.errors.some((line) => line.includes('metadata check-and-set parameter does not match'))

/** Reads what somebody else has written. */
export async function conflictOf(place: SecretPlace, base: Values, mine: Values): Promise<Conflict> {
  const { can, params } = place
  const may = (endpoint: 'data' | 'metadata') => can(endpointPath(place, endpoint), 'read')
  const metadata = may('metadata') ? await dataOrNull(readMetadata({ params })) : null
  const current = may('data') ? await dataOrNull(readSecret({ params })) : null
  const version = metadata?.current_version ?? current?.metadata.version ?? 0
  const written = metadata?.versions[String(version)]
  return {
    base,
    mine,
    theirs: may('data') ? (current?.data ?? {}) : undefined,
    version,
    at: written?.created_time ?? current?.metadata.created_time,
    by: written?.created_by.actor,
  }
}

/** The same for a secret without versions: null if it is gone. Undefined: it is still as the draft began. */
export function firstConflict(base: Values, mine: Values, theirs: Values | null): Conflict | undefined {
  if (theirs !== null && isSame(base, theirs)) return undefined
  return {
    base,
    mine,
    theirs: theirs ?? {},
    version: theirs === null ? 0 : 1,
    isFirst: true,
    at: undefined,
    by: undefined,
  }
}

export type Side = 'mine' | 'theirs'

/** A field of either side. */
export type Disputed = {
  readonly name: string
  readonly mine: unknown
  readonly theirs: unknown
  readonly isSame: boolean
  /** The side that changed the field; mine if both did. */
  readonly changedBy: Side
}

/** Every field of either side, in the order of the draft. */
export function disputedFields({ base, mine, theirs = {} }: Conflict): readonly Disputed[] {
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])]
  return names.map((name) => ({
    name,
    mine: mine[name],
    theirs: theirs[name],
    isSame: isSame(mine[name], theirs[name]),
    changedBy: isSame(mine[name], base[name]) ? 'theirs' : 'mine',
  }))
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** One side of each field; a field that this side does not have is left out. */
export const merged = (fields: readonly Disputed[], sideOf: (field: Disputed) => Side): Values =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = field[sideOf(field)]
      return value === undefined ? [] : [[field.name, value]]
    }),
  )
