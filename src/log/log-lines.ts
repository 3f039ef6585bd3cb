type Lines = { write(line: string): void }

/** Someone who reads the log beside its destination. `level` is the number of the lowest level wanted. */
type LogReader = { readonly level: number; read(line: string): void }

/** At most some megabytes. */
const maxKept = 2_000
const maxKeptLength = 4_096

/**
 * Where the lines of a log go: to its destination from `level` on, and to readers that may want lower levels.
 * pino tells the level of each line.
 */
export class LogLines {
  /** pino sets this before each line. */
  lastLevel = 0
  level: number
  readonly #destination: Lines
  readonly #readers = new Set<LogReader>()
  readonly #recent: { readonly level: number; readonly line: string }[] = []

  constructor(destination: Lines, level: number) {
    this.#destination = destination
    this.level = level
    // asks pino for `lastLevel`
    Object.defineProperty(this, Symbol.for('pino.metadata'), { value: true })
  }

  write(line: string): void {
    const level = this.lastLevel
    if (level >= this.level) {
      this.#destination.write(line)
      this.#keep(level, line)
    }
    for (const reader of this.#readers) if (level >= reader.level) reader.read(line)
  }

  recent(from: number): string[] {
    return this.#recent.filter(({ level }) => level >= from).map(({ line }) => line)
  }

  #keep(level: number, line: string): void {
    if (line.length > maxKeptLength) return
    if (this.#recent.length >= maxKept) this.#recent.splice(0, maxKept / 2)
    this.#recent.push({ level, line })
  }

  get lowest(): number {
    return Math.min(this.level, ...[...this.#readers].map(({ level }) => level))
  }

  add(reader: LogReader): void {
    this.#readers.add(reader)
  }

  remove(reader: LogReader): void {
    this.#readers.delete(reader)
  }
}
