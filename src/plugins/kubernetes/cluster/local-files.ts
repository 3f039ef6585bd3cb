import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../lib/system/clock.ts'

const maxAgeMs = 60_000

type Name = 'token' | 'ca.crt'
type Kept = { readonly text: string; readonly readAt: number }

/** Token and authority of the service account that this server runs as, if it runs in a cluster. */
export class LocalFiles {
  readonly #folder: string
  readonly #clock: Clock
  readonly #kept = new Map<Name, Kept>()

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  pathOf(name: Name): string {
    return join(this.#folder, name)
  }

  /** The text of a file, up to a minute old; undefined if there is none, which is not kept. */
  async read(name: Name): Promise<string | undefined> {
    const kept = this.#kept.get(name)
    const age = this.#clock.now() - (kept?.readAt ?? 0)
    if (kept !== undefined && age >= 0 && age < maxAgeMs) return kept.text
    return this.readAgain(name)
  }

  /** The text of a file as it is now. An empty file is none: without an authority, those of the system would count. */
  async readAgain(name: Name): Promise<string | undefined> {
    const text = await readFile(this.pathOf(name), 'utf8').then(
      (read) => read.trim(),
      () => '',
    )
    if (text === '') this.#kept.delete(name)
    else this.#kept.set(name, { text, readAt: this.#clock.now() })
    return text || undefined
  }
}
