import type { Step } from '../group.ts'

type Touched = Pick<Step<unknown>, 'keys' | 'prefix'>

/** The keys and prefixes that unfinished steps touch. */
export class KeysInFlight {
  readonly #keys = new Map<string, number>()
  readonly #prefixes: string[] = []

  touches({ keys, prefix }: Touched): boolean {
    for (const key of keys) {
      if (this.#keys.has(key)) return true
      for (const other of this.#prefixes) if (key.startsWith(other)) return true
    }
    if (prefix === undefined) return false
    for (const other of this.#prefixes) if (prefix.startsWith(other) || other.startsWith(prefix)) return true
    for (const key of this.#keys.keys()) if (key.startsWith(prefix)) return true
    return false
  }

  add({ keys, prefix }: Touched): void {
    for (const key of keys) this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1)
    if (prefix !== undefined) this.#prefixes.push(prefix)
  }

  remove({ keys, prefix }: Touched): void {
    for (const key of keys) {
      const count = (this.#keys.get(key) ?? 1) - 1
      if (count === 0) this.#keys.delete(key)
      else this.#keys.set(key, count)
    }
    if (prefix !== undefined) this.#prefixes.splice(this.#prefixes.indexOf(prefix), 1)
  }
}
