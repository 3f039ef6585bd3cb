/** A value that is loaded at its first use, and again after a failure. */
export class Loaded<T> {
  readonly #load: () => Promise<T>
  #value: Promise<T> | undefined

  constructor(load: () => Promise<T>) {
    this.#load = load
  }

  get(): Promise<T> {
    if (this.#value !== undefined) return this.#value
    const value = this.#load()
    this.#value = value
    value.catch(() => {
      if (this.#value === value) this.#value = undefined
    })
    return value
  }

  /** The value, if it was used since it was dropped. */
  get known(): Promise<T> | undefined {
    return this.#value
  }

  /** The next use loads the value again. */
  drop(): void {
    this.#value = undefined
  }
}
