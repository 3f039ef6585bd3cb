import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

/**
 * Lets threads start from files of the executable, which only its main thread sees. Their code is in one file
 * each, and gets the path of SQLite's library.
 */
export function startThreadsFromHere(library: string): void {
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(program: string | URL, options?: threads.WorkerOptions) {
      const code = `globalThis.gatehouseLibrary=${JSON.stringify(library)};${readFileSync(program, 'utf8')}`
      super(code, { ...options, eval: true })
    }
  }
  syncBuiltinESMExports()
}
