import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { engineCode } from './storage-error.ts'

export type FileIdentity = { readonly dev: bigint; readonly ino: bigint }

const checkIntervalMs = 1_000

export const identityOf = (path: string): FileIdentity => statSync(path, { bigint: true })

export const isSameFile = (one: FileIdentity, other: FileIdentity): boolean =>
  one.dev === other.dev && one.ino === other.ino

/**
 * Checks every second whether the opened files are still at their paths. SQLite does not notice a replaced
 * file, and what it writes then is lost at the next start.
 */
export class FileWatch implements Disposable {
  readonly #known = new Map<string, FileIdentity>()
  readonly #onChange: (reason: string | undefined) => void
  readonly #timer: NodeJS.Timeout
  #reason: string | undefined
  #isChecking = false
  #isDisposed = false

  constructor(onChange: (reason: string | undefined) => void) {
    this.#onChange = onChange
    this.#timer = setInterval(() => void this.#check(), checkIntervalMs).unref()
  }

  /** Why writes must be refused; undefined if all files are in place. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Watches the file at `path`, which has just been opened. */
  add(path: string): void {
    this.#known.set(path, identityOf(path))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#isDisposed = true
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    const found = await Promise.all([...this.#known].map(([path, known]) => changeOf(path, known)))
    this.#isChecking = false
    const reason = found.find((change) => change !== undefined)
    if (this.#isDisposed || reason === this.#reason) return
    this.#reason = reason
    this.#onChange(reason)
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
