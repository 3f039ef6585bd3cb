import { SharedMap } from '../../lib/data/shared-map.ts'
import type { Mount, MountTable } from './mount.ts'

/** The mount of a path, and the rest of the path below it, without a leading slash. */
export type Resolved = { readonly mount: Mount; readonly below: string }

/** A node of the path trie: the next segments, and the mount whose path ends here. */
type Segment = { readonly next: ReadonlyMap<string, Segment>; readonly mount: Mount | undefined }

const noSegment: Segment = { next: new Map(), mount: undefined }

const segmentsOf = ({ path }: Mount): string[] => path.slice(0, -1).split('/')

/** Maps that one change has made, and may change again. */
type Fresh = WeakSet<ReadonlyMap<string, Segment>>

/** The trie below `at` with what `change` makes of the mount at the end of the path; undefined if it is empty. */
function changed(
  at: Segment,
  [name, ...rest]: readonly string[],
  change: (mount: Mount | undefined) => Mount | undefined,
  fresh: Fresh,
): Segment | undefined {
  if (name === undefined) return segment(at.next, change(at.mount))
  // only `changed` has made a map that is fresh
  const next = fresh.has(at.next) ? (at.next as Map<string, Segment>) : new Map(at.next)
  fresh.add(next)
  const below = changed(next.get(name) ?? noSegment, rest, change, fresh)
  if (below === undefined) next.delete(name)
  else next.set(name, below)
  return segment(next, at.mount)
}

const segment = (next: Segment['next'], mount: Mount | undefined): Segment | undefined =>
  mount === undefined && next.size === 0 ? undefined : { next, mount }

/**
 * An immutable snapshot of all mounts, so that a request uses one consistent table. The next one shares with it
 * all but the paths that have changed.
 * docs/contract/mounts.md#routing
 */
export class MountIndex {
  #rootByNamespace = new SharedMap<Segment>()
  #byAccessor = new SharedMap<Mount>()
  #byUuid = new SharedMap<Mount>()

  constructor(mounts: Iterable<Mount>) {
    const all = [...mounts]
    if (all.length === 0) return
    this.#byAccessor = this.#byAccessor.with(all.map((mount) => [mount.accessor, mount]))
    this.#byUuid = this.#byUuid.with(all.map((mount) => [mount.uuid, mount]))
    this.#rootByNamespace = this.#withPaths([], all)
  }

  /**
   * The mount with the longest path that is a prefix of `path` (decoded, relative to the namespace);
   * otherwise the one at `path + "/"`. Also finds tainted mounts. Takes time proportional to the length of
   * the path.
   */
  resolve(namespace: string, path: string): Resolved | undefined {
    let at = this.#rootByNamespace.get(namespace)
    let found: Mount | undefined
    let start = 0
    while (at !== undefined) {
      const end = path.indexOf('/', start)
      if (end < 0) {
        const whole: Mount | undefined =
          found === undefined ? at.next.get(path.slice(start))?.mount : undefined
        if (whole !== undefined) return { mount: whole, below: '' }
        break
      }
      at = at.next.get(path.slice(start, end))
      if (at?.mount !== undefined) found = at.mount
      start = end + 1
    }
    return found === undefined ? undefined : { mount: found, below: path.slice(found.path.length) }
  }

  /** The mount with exactly this path, which has a trailing slash and, for auth mounts, `auth/`. */
  at(namespace: string, path: string): Mount | undefined {
    const resolved = this.resolve(namespace, path)
    return resolved?.mount.path === path ? resolved.mount : undefined
  }

  byAccessor(accessor: string): Mount | undefined {
    return this.#byAccessor.get(accessor)
  }

  byUuid(uuid: string): Mount | undefined {
    return this.#byUuid.get(uuid)
  }

  /** The mounts of one table of a namespace, ordered by path. */
  list(namespace: string, table: MountTable): Mount[] {
    return this.of(namespace)
      .filter((mount) => mount.table === table)
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** All mounts of a namespace. */
  of(namespace: string): Mount[] {
    const found: Mount[] = []
    const left = [...(this.#rootByNamespace.get(namespace)?.next.values() ?? [])]
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (at.mount !== undefined) found.push(at.mount)
      left.push(...at.next.values())
    }
    return found
  }

  all(): Mount[] {
    return [...this.#byUuid.values()]
  }

  /**
   * A mount of the namespace that conflicts with a new one at `path`: at the same path, above or below it.
   */
  conflictWith(namespace: string, path: string): Mount | undefined {
    let at = this.#rootByNamespace.get(namespace)
    for (const name of path.slice(0, -1).split('/')) {
      at = at?.next.get(name)
      if (at === undefined) return undefined
      if (at.mount !== undefined) return at.mount
    }
    return at === undefined ? undefined : firstBelow(at)
  }

  /** A table with the mounts in `changed` added or replaced, and those in `removed` removed. */
  with(changed: readonly Mount[], removed: readonly Mount[] = []): MountIndex {
    const gone = [...changed, ...removed].flatMap(({ uuid }) => this.#byUuid.get(uuid) ?? [])
    const next = new MountIndex([])
    next.#byAccessor = this.#byAccessor.with([
      ...gone.map(({ accessor }) => [accessor, undefined] as const),
      ...changed.map((mount) => [mount.accessor, mount] as const),
    ])
    next.#byUuid = this.#byUuid.with([
      ...gone.map(({ uuid }) => [uuid, undefined] as const),
      ...changed.map((mount) => [mount.uuid, mount] as const),
    ])
    next.#rootByNamespace = this.#withPaths(gone, changed)
    return next
  }

  /** The tries of all namespaces without some mounts, and then with others. */
  #withPaths(gone: readonly Mount[], added: readonly Mount[]): SharedMap<Segment> {
    const roots = new Map<string, Segment | undefined>()
    const fresh: Fresh = new WeakSet()
    const change = (mount: Mount, next: (there: Mount | undefined) => Mount | undefined) => {
      const { namespace } = mount
      const root = roots.has(namespace) ? roots.get(namespace) : this.#rootByNamespace.get(namespace)
      roots.set(namespace, changed(root ?? noSegment, segmentsOf(mount), next, fresh))
    }
    for (const mount of gone) change(mount, (there) => (there?.uuid === mount.uuid ? undefined : there))
    for (const mount of added) change(mount, () => mount)
    return this.#rootByNamespace.with(roots)
  }
}

function firstBelow(at: Segment): Mount | undefined {
  const [child] = at.next.values()
  return child === undefined ? undefined : (child.mount ?? firstBelow(child))
}
