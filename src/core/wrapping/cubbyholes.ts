import { setImmediate as nextTurn } from 'node:timers/promises'
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
 * another one, so that one deletion takes everything away. docs/contract/wrapping.md#cubbyhole.
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

  /** Takes away what tokens of the namespaces above one that is going have kept in it; its own lies in its own mount. May run again. */
  async removeNamespace(going: string, above: readonly string[]): Promise<void> {
    for (const namespace of above) {
      const mount = this.#parts.mountOf(namespace)
      if (mount !== undefined) await removeOwners(this.#parts.viewOf(mount), `.${going}`)
    }
  }
}

const pageSize = 2000

/** Removes everything below first segments of this ending. */
async function removeOwners(view: View, ending: string): Promise<void> {
  for (let after: string | undefined; ; await nextTurn()) {
    const keys = await view.listKeys('', { limit: pageSize, ...(after === undefined ? {} : { after }) })
    const owners = new Set(keys.map((key) => key.slice(0, key.indexOf('/'))))
    for (const owner of owners) if (owner.endsWith(ending)) await view.deletePrefix(`${owner}/`)
    after = keys.at(-1)
    if (after === undefined) return
  }
}
