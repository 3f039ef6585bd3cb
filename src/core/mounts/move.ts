import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import type { Mount } from './mount.ts'
import {
  isFixedPath,
  isReservedPath,
  type MountPoint,
  pathFault,
  shownPath,
  tableOf,
  withSlash,
} from './mount-path.ts'
import type { MountContext } from './new-mount.ts'

/** The source or target of a move: a path as sent, relative to the namespace. */
export type MoveSide = { readonly namespace: Namespace; readonly path: string }

export type Move = { readonly mount: Mount; readonly target: MountPoint }

/** Validates the move of a remount call. Throws the errors of docs/contract/mounts.md#moving */
export function planMove(from: MoveSide, to: MoveSide, context: MountContext): Move {
  checkTexts(from.path, to.path)
  const source = withSlash(from.path)
  const path = withSlash(to.path)
  const target: MountPoint = { namespace: to.namespace.id, table: tableOf(path), path }
  const fault = ['', '/'].includes(shownPath(target)) ? 'path cannot be empty' : pathFault(path)
  if (fault !== undefined) throw refuse('invalid', `invalid destination mount: ${fault}`)
  if (isFixedPath(source)) throw refuse('invalid', `cannot remount ${quoted(source)}`)
  checkDestination(source, target)
  const mount = context.table.at(from.namespace.id, source)
  if (mount === undefined || mount.tainted || mount.moving !== undefined)
    throw refuse('invalid', `no matching mount at ${quoted(source)}`)
  checkFree(target, context)
  return { mount, target }
}

function checkTexts(from: string, to: string): void {
  if (from === '' || to === '')
    throw refuse('invalid', "both 'from' and 'to' path must be specified as a string")
  if (from.trim() !== from) throw refuse('invalid', "'from' path cannot contain trailing whitespace")
  if (to.trim() !== to) throw refuse('invalid', "'to' path cannot contain trailing whitespace")
}

function checkDestination(source: string, target: MountPoint): void {
  if (tableOf(source) === 'auth') {
    if (target.table !== 'auth')
      throw refuse('invalid', `cannot remount auth mount to non-auth mount ${quoted(target.path)}`)
    if (isFixedPath(target.path))
      throw refuse('invalid', `cannot remount to destination ${quoted(target.path)}`)
  } else if (isReservedPath(target)) {
    throw refuse('invalid', `cannot remount to destination ${target.path}`)
  }
}

/** Refuses a target that conflicts with another mount or namespace, or with the mount itself. */
export function checkFree({ namespace, table, path }: MountPoint, context: MountContext): void {
  const taken =
    context.table.conflictWith(namespace, path)?.path ??
    (table === 'secret' ? context.conflictingNamespace(namespace, path) : undefined)
  if (taken !== undefined) throw refuse('invalid', `path already in use at ${quoted(taken)}`)
}

/** Whether a caller in this namespace may see a move: its source or target is in the namespace. */
export const concerns = (
  { migration_info: { source_mount, target_mount } }: Migration,
  { path }: Namespace,
): boolean => source_mount.startsWith(path) || target_mount.startsWith(path)

export type Migration = {
  readonly migration_id: string
  readonly migration_info: {
    readonly source_mount: string
    readonly status: 'in-progress' | 'success' | 'failure'
    readonly target_mount: string
  }
}
