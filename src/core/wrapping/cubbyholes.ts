import type { View } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import { levelOf } from '../records/key-level.ts'
import { moveRecords } from '../sealed-names/moved-records.ts'
import { NameCipher, type NameKeys } from '../sealed-names/name-cipher.ts'
import type { Token } from '../tokens/store/token.ts'

export type CubbyholesParts = {
  /** They encrypt the paths of entries. */
  readonly names: NameKeys
  /** The mount `cubbyhole/` of a namespace; undefined if the namespace was deleted. */
  mountOf(namespace: string): Mount | undefined
  viewOf(mount: Mount): View
}

/** The slice of a cubbyhole mount that belongs to one token. */
export type Cubbyhole = {
  /** Of the mount. */
  readonly view: View
  /** The keys of its entries, by their paths. */
  readonly cipher: NameCipher
  /** The key of an entry from the storage root, for writes that also change other records. */
  fullKeyOf(path: string): string
}

/** What the keys of entries begin with: it is behind all owners, with which an earlier version began them. */
const root = '~/'

/**
 * The private stores of tokens. The cubbyhole mount of a token's own namespace stores all its entries,
 * including those it writes in the cubbyholes of other namespaces, so that one deletion removes everything. The
 * paths of entries are encrypted.
 * docs/contract/wrapping.md#cubbyhole
 */
export class Cubbyholes {
  readonly #parts: CubbyholesParts

  constructor(parts: CubbyholesParts) {
    this.#parts = parts
  }

  /** A token's cubbyhole in a namespace; undefined if the token's namespace was deleted. */
  of({ namespace, cubbyhole_id }: Token, inNamespace: string): Cubbyhole | undefined {
    const mount = this.#parts.mountOf(namespace)
    if (mount === undefined) return undefined
    const owner = inNamespace === namespace ? cubbyhole_id : `${cubbyhole_id}.${inNamespace}`
    const cipher = new NameCipher(this.#parts.names, `${root}${owner}/`)
    const fullKeyOf = (path: string) => `mount/${mount.uuid}/${cipher.keyOf(path)}`
    return { view: this.#parts.viewOf(mount), cipher, fullKeyOf }
  }

  /** Deletes all cubbyhole entries of a token. */
  async empty({ namespace, cubbyhole_id }: Token): Promise<void> {
    const mount = this.#parts.mountOf(namespace)
    // cubbyhole ids are random and of equal length, so none is a prefix of another
    if (mount !== undefined && cubbyhole_id !== '')
      await this.#parts.viewOf(mount).deletePrefix(root + cubbyhole_id)
  }

  /**
   * Encrypts the paths that an earlier version has stored in clear in these cubbyhole mounts. Returns the number of
   * entries.
   */
  async encryptPaths(mounts: readonly Mount[]): Promise<number> {
    let moved = 0
    for (const mount of mounts)
      moved += await moveRecords(this.#parts.viewOf(mount), '', ({ key, value }) => {
        if (key.startsWith(root)) return undefined
        const path = key.indexOf('/') + 1
        const cipher = new NameCipher(this.#parts.names, root + key.slice(0, path))
        return { key: cipher.keyOf(key.slice(path)), value }
      })
    return moved
  }

  /**
   * Deletes what tokens of ancestor namespaces stored in a namespace's cubbyhole. Its own tokens' entries are
   * deleted with its mount. Idempotent.
   */
  async removeNamespace(removed: string, ancestors: readonly string[]): Promise<void> {
    for (const namespace of ancestors) {
      const mount = this.#parts.mountOf(namespace)
      if (mount !== undefined) await deleteOwnedBy(this.#parts.viewOf(mount).view(root), `.${removed}`)
    }
  }
}

/** Deletes all entries whose first path segment, the owner, has this suffix. */
async function deleteOwnedBy(view: View, suffix: string): Promise<void> {
  for (const owner of await levelOf(view, ''))
    if (owner.endsWith(`${suffix}/`)) await view.deletePrefix(owner)
}
