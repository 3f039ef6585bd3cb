import { excerpt } from '../../lib/go/text.ts'
import type { MountTable } from './mount.ts'

/** The paths of auth mounts begin with it. */
export const authPrefix = 'auth/'

/** The paths of the mounts that every namespace has from its start. */
export const fixedPaths = {
  system: 'sys/',
  cubbyhole: 'cubbyhole/',
  identity: 'identity/',
  token: `${authPrefix}token/`,
} as const

export const tableOf = (path: string): MountTable => (path.startsWith(authPrefix) ? 'auth' : 'secret')

/**
 * Where a mount is or shall be: `path` is relative to the namespace, ends in `/`, and begins with `auth/` in
 * the auth table.
 */
export type MountPlace = { readonly namespace: string; readonly table: MountTable; readonly path: string }

/** The longest path a mount may have, in UTF-16 units. */
const maxPathLength = 1024

/** A path as a client writes it: one `/` at its start is dropped, one at its end added. */
export function withSlash(asked: string): string {
  const path = asked.startsWith('/') ? asked.slice(1) : asked
  return path.endsWith('/') ? path : `${path}/`
}

/** The place a management path names: `jwt` of the auth table is `auth/jwt/`. */
export function placeOf(namespace: string, table: MountTable, asked: string): MountPlace {
  const path = withSlash(asked)
  return { namespace, table, path: table === 'auth' ? authPrefix + path : path }
}

/** The path as the listings of its table show it: auth mounts without `auth/`. */
export const shownPath = (place: { readonly table: MountTable; readonly path: string }): string =>
  place.table === 'auth' ? place.path.slice(authPrefix.length) : place.path

const kept = new Set(['auth', 'sys', 'audit', 'cubbyhole', 'identity'])
const keptAtRoot = new Set(['ui', 'v1', 'docs', 'robots.txt', '.well-known', 'metrics', 'health'])

const firstSegment = (path: string): string => path.slice(0, path.indexOf('/'))

/**
 * Equal to or below a place that is the server's own, so no secrets mount may be there.
 * docs/contract/mounts.md#enabling
 */
export function isReservedPlace({ namespace, path }: Pick<MountPlace, 'namespace' | 'path'>): boolean {
  const first = firstSegment(path)
  return kept.has(first) || (namespace === 'root' && keptAtRoot.has(first))
}

/** Equal to or below one of the mounts every namespace has; of auth mounts that is `auth/token/`. */
export const isFixedPlace = (path: string): boolean =>
  tableOf(path) === 'auth' ? path.startsWith(fixedPaths.token) : kept.has(firstSegment(path))

/**
 * Why a path (trailing slash) cannot be a mount's, whatever else is mounted. docs/contract/mounts.md#moving
 */
export function pathFault(path: string): string | undefined {
  if (path.length > maxPathLength) return `path is longer than ${maxPathLength} characters`
  const clean = cleaned(path)
  if (clean !== path) return `path '${excerpt(path)}' does not match cleaned path '${excerpt(clean)}'`
  return /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(path)
    ? 'path cannot contain non-printable characters'
    : undefined
}

function cleaned(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return `${segments.join('/')}/`
}
