import { setImmediate as nextTurn } from 'node:timers/promises'
import type { View } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import type { Token } from '../tokens/token.ts'

export type CubbyholesParts = {
  /** The mount `cubbyhole/` of a namespace; undefined if the namespace was deleted. */
  mountOf(namespace: string): Mount | undefined
  viewOf(mount: Mount): View
}

/** The slice of a cubbyhole mount that belongs to one token. */
export type Cubbyhole = {
  readonly view: View
  /** Key prefix of its entries. */
  readonly prefix: string
  /** Key prefix from the storage root, for writes that also change other records. */
  readonly fullPrefix: string
}

/**
 * The private stores of tokens. The cubbyhole mount of a token's own namespace stores all its entries,
 * including those it writes in the cubbyholes of other namespaces, so that one deletion removes everything.
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
    const prefix = inNamespace === namespace ? `${cubbyhole_id}/` : `${cubbyhole_id}.${inNamespace}/`
    return { view: this.#parts.viewOf(mount), prefix, fullPrefix: `mount/${mount.uuid}/${prefix}` }
  }

  /** Deletes all cubbyhole entries of a token. */
  async empty({ namespace, cubbyhole_id }: Token): Promise<void> {
    const mount = this.#parts.mountOf(namespace)
    // cubbyhole ids are random and of equal length, so none is a prefix of another
    if (mount !== undefined && cubbyhole_id !== '') await this.#parts.viewOf(mount).deletePrefix(cubbyhole_id)
  }

  /**
   * Deletes what tokens of ancestor namespaces stored in a namespace's cubbyhole. Its own tokens' entries are
   * deleted with its mount. Idempotent.
   */
  async removeNamespace(removed: string, ancestors: readonly string[]): Promise<void> {
    for (const namespace of ancestors) {
      const mount = this.#parts.mountOf(namespace)
      if (mount !== undefined) await deleteOwnedBy(this.#parts.viewOf(mount), `.${removed}`)
    }
  }
}

const pageSize = 2000

/** Deletes all entries whose first path segment, the owner, has this suffix. */
async function deleteOwnedBy(view: View, suffix: string): Promise<void> {
  for (let after: string | undefined; ; await nextTurn()) {
    const keys = await view.listKeys('', { limit: pageSize, ...(after === undefined ? {} : { after }) })
    const owners = new Set(keys.map((key) => key.slice(0, key.indexOf('/'))))
    for (const owner of owners) if (owner.endsWith(suffix)) await view.deletePrefix(`${owner}/`)
    after = keys.at(-1)
    if (after === undefined) return
  }
}
