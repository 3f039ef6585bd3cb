import { refuse } from '../../errors.ts'
import { quoted } from '../../lib/go/text.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import type { Mount } from './mount.ts'
import {
  isFixedPlace,
  isReservedPlace,
  type MountPlace,
  pathFault,
  shownPath,
  tableOf,
  withSlash,
} from './mount-path.ts'
import type { Surroundings } from './new-mount.ts'

/** One side of a move: a mount's path as the client wrote it, relative to the namespace. */
export type MoveSide = { readonly namespace: Namespace; readonly path: string }

/** A move that may be made. */
export type Move = { readonly mount: Mount; readonly target: MountPlace }

/** The move a remount call asks for. Throws the refusals of docs/contract/mounts.md#moving */
export function planMove(from: MoveSide, to: MoveSide, around: Surroundings): Move {
  checkTexts(from.path, to.path)
  const source = withSlash(from.path)
  const path = withSlash(to.path)
  const target: MountPlace = {
    namespace: to.namespace.id,
    table: tableOf(path),
    path,
  }
  const fault = ['', '/'].includes(shownPath(target)) ? 'path cannot be empty' : pathFault(path)
  if (fault !== undefined) throw refuse('invalid', `invalid destination mount: ${fault}`)
  if (isFixedPlace(source)) throw refuse('invalid', `cannot remount ${quoted(source)}`)
  checkDestination(source, target)
  const mount = around.table.at(from.namespace.id, source)
  if (mount === undefined || mount.tainted || mount.moving !== undefined)
    throw refuse('invalid', `no matching mount at ${quoted(source)}`)
  checkFree(target, around)
  return { mount, target }
}

function checkTexts(from: string, to: string): void {
  if (from === '' || to === '')
    throw refuse('invalid', "both 'from' and 'to' path must be specified as a string")
  if (from.trim() !== from) throw refuse('invalid', "'from' path cannot contain trailing whitespace")
  if (to.trim() !== to) throw refuse('invalid', "'to' path cannot contain trailing whitespace")
}

function checkDestination(source: string, target: MountPlace): void {
  if (tableOf(source) === 'auth') {
    if (target.table !== 'auth')
      throw refuse('invalid', `cannot remount auth mount to non-auth mount ${quoted(target.path)}`)
    if (isFixedPlace(target.path))
      throw refuse('invalid', `cannot remount to destination ${quoted(target.path)}`)
  } else if (isReservedPlace(target)) {
    throw refuse('invalid', `cannot remount to destination ${target.path}`)
  }
}

/** Refuses a target that is taken, by itself, above or below; a mount stands in its own way too. */
export function checkFree({ namespace, table, path }: MountPlace, around: Surroundings): void {
  const taken =
    around.table.inTheWay(namespace, path)?.path ??
    (table === 'secret' ? around.namespaceInTheWay(namespace, path) : undefined)
  if (taken !== undefined) throw refuse('invalid', `path already in use at ${quoted(taken)}`)
}

/** Whether a caller in this namespace may know of a move: it went from or to somewhere in it. */
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

const remembered = 100

/** The last moves, for `sys/remount/status`; kept in memory only. */
export class Migrations {
  readonly #byId = new Map<string, Migration>()

  find(id: string): Migration | undefined {
    return this.#byId.get(id)
  }

  start(id: string, source_mount: string, target_mount: string): void {
    this.#byId.set(id, {
      migration_id: id,
      migration_info: { source_mount, status: 'in-progress', target_mount },
    })
    for (const oldest of this.#byId.keys()) {
      if (this.#byId.size <= remembered) break
      this.#byId.delete(oldest)
    }
  }

  /** Gives back the move as it ended; undefined when it is forgotten. */
  end(id: string, status: 'success' | 'failure'): Migration | undefined {
    const migration = this.#byId.get(id)
    if (migration === undefined) return undefined
    const ended = { ...migration, migration_info: { ...migration.migration_info, status } }
    this.#byId.set(id, ended)
    return ended
  }
}
