/** What is loaded when it is first asked for, and again after a failure. */
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

  /** What it is if anybody has asked for it. */
  get known(): Promise<T> | undefined {
    return this.#value
  }

  /** From now on, it is loaded anew. */
  drop(): void {
    this.#value = undefined
  }
}
