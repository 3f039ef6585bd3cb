import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * The function that Node has globally with `--expose-gc`. With that option, Node does not use the compiled code that it
 * brings for its own modules, so a start takes a tenth longer. What is kept of the function takes 1 MB.
 */
export function collector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('gc')
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}

/** A collection that frees more ciphers than this makes other requests wait. */
const mostCiphers = 300

/**
 * The ciphers that were used since the last collection. Each holds memory outside of the heap, which a collection frees one
 * by one: thousands of them take ten milliseconds or more. Before so many can gather, long work collects the young generation.
 */
class UsedCiphers {
  #count = 0
  #collect: NodeJS.GCFunction | undefined

  add(): void {
    this.#count += 1
  }

  /** Collects if there are many, and says whether it did. */
  collectMany(): boolean {
    if (this.#count < mostCiphers) return false
    this.#count = 0
    this.#collect ??= collector()
    this.#collect({ type: 'minor', execution: 'sync' })
    return true
  }
}

export const usedCiphers = new UsedCiphers()
