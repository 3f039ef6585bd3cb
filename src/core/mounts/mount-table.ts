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
  #rootByNamespace: ReadonlyMap<string, Segment> = new Map()
  #byAccessor: ReadonlyMap<string, Mount> = new Map()
  #byUuid: ReadonlyMap<string, Mount> = new Map()

  constructor(mounts: Iterable<Mount>) {
    const all = [...mounts]
    if (all.length === 0) return
    this.#byAccessor = new Map(all.map((mount) => [mount.accessor, mount]))
    this.#byUuid = new Map(all.map((mount) => [mount.uuid, mount]))
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

  list(namespace: string, table: MountTable): Mount[] {
    return this.of(namespace)
      .filter((mount) => mount.table === table)
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

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
    next.#byAccessor = replaced(this.#byAccessor, gone, changed, ({ accessor }) => accessor)
    next.#byUuid = replaced(this.#byUuid, gone, changed, ({ uuid }) => uuid)
    next.#rootByNamespace = this.#withPaths(gone, changed)
    return next
  }

  /** The tries of all namespaces without some mounts, and then with others. */
  #withPaths(gone: readonly Mount[], added: readonly Mount[]): ReadonlyMap<string, Segment> {
    const roots = new Map(this.#rootByNamespace)
    const fresh: Fresh = new WeakSet()
    const change = (mount: Mount, next: (there: Mount | undefined) => Mount | undefined) => {
      const { namespace } = mount
      const root = changed(roots.get(namespace) ?? noSegment, segmentsOf(mount), next, fresh)
      if (root === undefined) roots.delete(namespace)
      else roots.set(namespace, root)
    }
    for (const mount of gone) change(mount, (there) => (there?.uuid === mount.uuid ? undefined : there))
    for (const mount of added) change(mount, () => mount)
    return roots
  }
}

function replaced(
  mounts: ReadonlyMap<string, Mount>,
  gone: readonly Mount[],
  added: readonly Mount[],
  keyOf: (mount: Mount) => string,
): ReadonlyMap<string, Mount> {
  const all = new Map(mounts)
  for (const mount of gone) all.delete(keyOf(mount))
  for (const mount of added) all.set(keyOf(mount), mount)
  return all
}

function firstBelow(at: Segment): Mount | undefined {
  const [child] = at.next.values()
  return child === undefined ? undefined : (child.mount ?? firstBelow(child))
}
