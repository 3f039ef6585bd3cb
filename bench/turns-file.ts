import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The longest turns of a server's event loop in processor time, which other programs hardly change. */
export class TurnsFile {
  readonly #file: string

  /** `folder` is that of the server. */
  constructor(folder: string) {
    this.#file = join(folder, 'turns')
  }

  /** What the server is started with. */
  get environment(): Record<string, string> {
    return {
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'turn-times.ts')}`,
      BENCH_TURNS_FILE: this.#file,
    }
  }

  /** Forgets the turns so far. */
  reset(): Promise<void> {
    return writeFile(this.#file, '')
  }

  /** The longest turn since `reset`, in milliseconds. */
  async longestMs(): Promise<number> {
    const lines = (await readFile(this.#file, 'utf8')).split('\n')
    return Math.max(0, ...lines.map(Number))
  }
}
