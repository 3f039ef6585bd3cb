import { stat } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { engineCode } from './storage-error.ts'

/** Identifies a file independently of its name. */
export type FileIdentity = { readonly dev: bigint; readonly ino: bigint }

const lookEveryMs = 1_000

export const identityOf = (path: string): FileIdentity => statSync(path, { bigint: true })

export const isSameFile = (one: FileIdentity, other: FileIdentity): boolean =>
  one.dev === other.dev && one.ino === other.ino

/**
 * Checks every second whether the files at some paths are still the opened ones. SQLite does not notice a
 * replaced file, and what it writes then is lost at the next start.
 */
export class FileWatch implements Disposable {
  readonly #known = new Map<string, FileIdentity>()
  readonly #tell: (reason: string | undefined) => void
  readonly #timer: NodeJS.Timeout
  #reason: string | undefined
  #isLooking = false
  #isDisposed = false

  constructor(tell: (reason: string | undefined) => void) {
    this.#tell = tell
    this.#timer = setInterval(() => void this.#look(), lookEveryMs).unref()
  }

  /** The reason why writes must be refused; undefined if the files are in place. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Watches the file at `path`, which has just been opened. */
  add(path: string): void {
    this.#known.set(path, identityOf(path))
  }

  /** Stops watching. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#isDisposed = true
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const found = await Promise.all([...this.#known].map(([path, known]) => changeOf(path, known)))
    this.#isLooking = false
    const reason = found.find((change) => change !== undefined)
    if (this.#isDisposed || reason === this.#reason) return
    this.#reason = reason
    this.#tell(reason)
  }
}

async function changeOf(path: string, known: FileIdentity): Promise<string | undefined> {
  try {
    const isSame = isSameFile(known, await stat(path, { bigint: true }))
    return isSame ? undefined : `${basename(path)} was replaced`
  } catch (cause) {
    const code = engineCode(cause)
    return code === 'ENOENT'
      ? `${basename(path)} was removed`
      : `${basename(path)} cannot be reached: ${code}`
  }
}
