import type { Mount, MountTable } from './mount.ts'

/** The mount of a path, and the rest of the path below it, without a leading slash. */
export type Resolved = { readonly mount: Mount; readonly below: string }

/** A node of the path trie: the next segments, and the mount whose path ends here. */
type Segment = { readonly next: Map<string, Segment>; mount: Mount | undefined }

function entryOf(segments: Map<string, Segment>, name: string): Segment {
  const known = segments.get(name)
  if (known !== undefined) return known
  const fresh: Segment = { next: new Map(), mount: undefined }
  segments.set(name, fresh)
  return fresh
}

/**
 * An immutable snapshot of all mounts, so that a request uses one consistent table.
 * docs/contract/mounts.md#routing
 */
export class MountIndex {
  readonly #rootByNamespace = new Map<string, Segment>()
  readonly #byAccessor = new Map<string, Mount>()
  readonly #byUuid = new Map<string, Mount>()

  constructor(mounts: Iterable<Mount>) {
    for (const mount of mounts) {
      this.#byAccessor.set(mount.accessor, mount)
      this.#byUuid.set(mount.uuid, mount)
      this.#insert(mount)
    }
  }

  #insert(mount: Mount): void {
    const root = entryOf(this.#rootByNamespace, mount.namespace)
    const last = mount.path
      .slice(0, -1)
      .split('/')
      .reduce((at, name) => entryOf(at.next, name), root)
    last.mount = mount
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
    const next = new Map(this.#byUuid)
    for (const mount of removed) next.delete(mount.uuid)
    for (const mount of changed) next.set(mount.uuid, mount)
    return new MountIndex(next.values())
  }
}

function firstBelow(at: Segment): Mount | undefined {
  const [child] = at.next.values()
  return child === undefined ? undefined : (child.mount ?? firstBelow(child))
}
