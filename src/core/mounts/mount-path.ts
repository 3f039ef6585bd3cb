import { excerpt } from '../../lib/text/go-text.ts'
import type { MountTable } from './mount.ts'

export const authPrefix = 'auth/'

/** The paths of the fixed mounts, which every namespace has. */
export const fixedPaths = {
  system: 'sys/',
  cubbyhole: 'cubbyhole/',
  identity: 'identity/',
  token: `${authPrefix}token/`,
} as const

export const tableOf = (path: string): MountTable => (path.startsWith(authPrefix) ? 'auth' : 'secret')

/**
 * The location of an existing or new mount. `path` is relative to the namespace, ends in `/`, and begins with
 * `auth/` in the auth table.
 */
export type MountPoint = { readonly namespace: string; readonly table: MountTable; readonly path: string }

/** The maximum length of a mount path, in UTF-16 code units. */
const maxPathLength = 1024

/** Normalizes a path from a client: removes a leading `/` and adds a trailing one. */
export function withSlash(sent: string): string {
  const path = sent.startsWith('/') ? sent.slice(1) : sent
  return path.endsWith('/') ? path : `${path}/`
}

/** The mount point that a management path names: `jwt` in the auth table is `auth/jwt/`. */
export function mountPointOf(namespace: string, table: MountTable, sent: string): MountPoint {
  const path = withSlash(sent)
  return { namespace, table, path: table === 'auth' ? authPrefix + path : path }
}

/** The path in listings: auth mounts without `auth/`. */
export const shownPath = ({ table, path }: { readonly table: MountTable; readonly path: string }): string =>
  table === 'auth' ? path.slice(authPrefix.length) : path

/** The path below `sys/` where the tuning of a mount is. */
export const tunePathOf = ({ path }: { readonly path: string }): string =>
  `${path.startsWith(authPrefix) ? '' : 'mounts/'}${path.slice(0, -1)}/tune`

const reserved = new Set(['auth', 'sys', 'audit', 'cubbyhole', 'identity'])
const reservedAtRoot = new Set(['ui', 'v1', 'docs', 'robots.txt', '.well-known', 'metrics', 'health'])

const firstSegment = (path: string): string => path.slice(0, path.indexOf('/'))

/**
 * Whether a path is equal to or below one of the server's own, where no secrets mount is allowed.
 * docs/contract/mounts.md#enabling
 */
export function isReservedPath({ namespace, path }: Pick<MountPoint, 'namespace' | 'path'>): boolean {
  const first = firstSegment(path)
  return reserved.has(first) || (namespace === 'root' && reservedAtRoot.has(first))
}

/** Whether a path is equal to or below a fixed mount; the only fixed auth mount is `auth/token/`. */
export const isFixedPath = (path: string): boolean =>
  tableOf(path) === 'auth' ? path.startsWith(fixedPaths.token) : reserved.has(firstSegment(path))

/**
 * Why a path (with trailing slash) is invalid, independently of other mounts. docs/contract/mounts.md#moving
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
