import type { View } from '../barrier/view.ts'
import type { Mount } from '../mounts/mount.ts'
import type { Token } from '../tokens/token.ts'

export type CubbyholesParts = {
  /** The mount `cubbyhole/` of a namespace; undefined when the namespace is gone. */
  mountOf(namespace: string): Mount | undefined
  viewOf(mount: Mount): View
}

/** The slice of a cubbyhole mount that belongs to one token. */
export type Cubbyhole = {
  readonly view: View
  /** What the keys of its entries begin with. */
  readonly prefix: string
  /** The same below the root of everything stored, for a write that changes more than the cubbyhole. */
  readonly fullPrefix: string
}

/**
 * The private stores of tokens. All of a token's lie in the cubbyhole mount of the token's own namespace, also what it keeps in the cubbyhole of
 * another one, so that one deletion takes everything away. Contract core-http §9.4.
 */
export class Cubbyholes {
  readonly #parts: CubbyholesParts

  constructor(parts: CubbyholesParts) {
    this.#parts = parts
  }

  /** What a token keeps in the cubbyhole of a namespace. Undefined when the token's namespace is gone. */
  of({ namespace, cubbyhole_id }: Token, inNamespace: string): Cubbyhole | undefined {
    const mount = this.#parts.mountOf(namespace)
    if (mount === undefined) return undefined
    const prefix = inNamespace === namespace ? `${cubbyhole_id}/` : `${cubbyhole_id}.${inNamespace}/`
    return { view: this.#parts.viewOf(mount), prefix, fullPrefix: `mount/${mount.uuid}/${prefix}` }
  }

  /** Takes away all a token ever kept. */
  async empty({ namespace, cubbyhole_id }: Token): Promise<void> {
    const mount = this.#parts.mountOf(namespace)
    // ids of cubbyholes are random and of one length: none is the beginning of another
    if (mount !== undefined && cubbyhole_id !== '') await this.#parts.viewOf(mount).deletePrefix(cubbyhole_id)
  }
}
