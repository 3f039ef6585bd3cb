import { type Namespace, type NamespaceRecord, parentPath, rootNamespace } from './namespace.ts'
import { segmentsOfHeader } from './namespace-name.ts'

/** The namespace of a request, and the length of the prefix of its path that named it. */
export type ResolvedNamespace = { readonly namespace: NamespaceRecord; readonly taken: number }

type Node = { readonly children: Map<string, Node>; resolved: ResolvedNamespace }

const nodeOf = (namespace: NamespaceRecord): Node => ({
  children: new Map(),
  resolved: { namespace, taken: 0 },
})

/** All namespaces, by path and by id. A lookup takes time proportional to the length of the path. */
export class NamespaceTree {
  readonly #root = nodeOf(rootNamespace)
  readonly #byId = new Map<string, NamespaceRecord>([[rootNamespace.id, rootNamespace]])

  get isRootOnly(): boolean {
    return this.#byId.size === 1
  }

  /**
   * The namespace of a request, from its header and its path; undefined if the header names an unknown one.
   * docs/contract/namespaces.md#the-namespace-of-a-request
   */
  resolve(header: string | undefined, path: string): ResolvedNamespace | undefined {
    let at = header === undefined || header === '' ? this.#root : this.#named(header)
    if (at === undefined) return undefined
    let taken = 0
    while (at.children.size > 0) {
      const end = path.indexOf('/', taken)
      const next: Node | undefined = end < 0 ? undefined : at.children.get(path.slice(taken, end))
      if (next === undefined) break
      at = next
      taken = end + 1
    }
    return taken === 0 ? at.resolved : { namespace: at.resolved.namespace, taken }
  }

  byId(id: string): NamespaceRecord | undefined {
    return this.#byId.get(id)
  }

  /** `path` is a full path with trailing slash. */
  byPath(path: string): NamespaceRecord | undefined {
    return this.#at(path)?.resolved.namespace
  }

  /** Direct children, ordered by path. */
  childrenOf({ path }: Namespace): NamespaceRecord[] {
    const children = this.#at(path)?.children.values() ?? []
    return [...children].map(({ resolved }) => resolved.namespace).sort(byPath)
  }

  /** All descendants, ordered by path. */
  descendantsOf({ path }: Namespace): NamespaceRecord[] {
    const found: NamespaceRecord[] = []
    const left = [...(this.#at(path)?.children.values() ?? [])]
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      found.push(node.resolved.namespace)
      left.push(...node.children.values())
    }
    return found.sort(byPath)
  }

  hasChildren({ path }: Namespace): boolean {
    return (this.#at(path)?.children.size ?? 0) > 0
  }

  /** The namespace and its ancestors, the root first. */
  lineageOf({ path }: Namespace): NamespaceRecord[] {
    const lineage = [rootNamespace]
    let at: Node | undefined = this.#root
    for (const name of segmentsOf(path)) {
      at = at?.children.get(name)
      if (at !== undefined) lineage.push(at.resolved.namespace)
    }
    return lineage
  }

  /** Adds a namespace, whose parent must exist, or replaces a changed one. */
  put(record: NamespaceRecord): void {
    const known = this.#at(record.path)
    if (known === undefined) {
      const parent = this.#at(parentPath(record) ?? '')
      if (parent === undefined) throw new Error(`namespace ${record.id} has no parent`)
      parent.children.set(lastSegment(record), nodeOf(record))
    } else {
      known.resolved = { namespace: record, taken: 0 }
    }
    this.#byId.set(record.id, record)
  }

  /** Removes a namespace without children. */
  remove(record: NamespaceRecord): void {
    this.#at(parentPath(record) ?? '')?.children.delete(lastSegment(record))
    this.#byId.delete(record.id)
  }

  #named(header: string): Node | undefined {
    const segments = segmentsOfHeader(header)
    return segments && this.#below(segments)
  }

  #at(path: string): Node | undefined {
    return this.#below(segmentsOf(path))
  }

  #below(segments: readonly string[]): Node | undefined {
    let at: Node | undefined = this.#root
    for (const name of segments) at = at?.children.get(name)
    return at
  }
}

const segmentsOf = (path: string): string[] => (path === '' ? [] : path.slice(0, -1).split('/'))

export const lastSegment = ({ path }: Namespace): string =>
  path.slice(path.lastIndexOf('/', path.length - 2) + 1, -1)

const byPath = (a: Namespace, b: Namespace): number => (a.path < b.path ? -1 : 1)
