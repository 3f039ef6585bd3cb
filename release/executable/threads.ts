import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

/**
 * Lets threads start from files of the executable, which only its main thread sees. Their code is in one file
 * each, and gets the paths of the libraries that it names.
 */
export function startThreadsFromHere(library: string, passwordLibrary: () => string): void {
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(program: string | URL, options?: threads.WorkerOptions) {
      const code = readFileSync(program, 'utf8')
      const forPasswords = code.includes('gatehousePasswordLibrary')
        ? `globalThis.gatehousePasswordLibrary=()=>${JSON.stringify(passwordLibrary())};`
        : ''
      super(`globalThis.gatehouseLibrary=${JSON.stringify(library)};${forPasswords}${code}`, {
        ...options,
        eval: true,
      })
    }
  }
  syncBuiltinESMExports()
}
