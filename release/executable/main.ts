import { existsSync } from 'node:fs'
import { getRawAsset } from 'node:sea'
import { libraryPath, prepareProcess } from './system.ts'
import { startThreadsFromHere } from './threads.ts'

declare global {
  /** Where SQLite's library is: for better-sqlite3 in the bundle of the executable. */
  var gatehouseLibrary: string | undefined
  /** The same for bcrypt, in the threads that check passwords. */
  var gatehousePasswordLibrary: (() => string) | undefined
}

// what `endProcess` puts in the place of a process
const [, , option, exitCode] = process.argv
if (option === '--exit') process.exit(Number(exitCode))

/** Its folder is that of the executable's own files. */
const own = `${import.meta.dirname}/`

/** What `child_process.fork` starts is a file of the executable, too. */
const forked = process.channel === undefined ? undefined : process.argv.find((arg) => arg.startsWith(own))

const library = (name: string) => libraryPath(name, new Uint8Array(getRawAsset(name)))

prepareProcess()
globalThis.gatehouseLibrary = library('better-sqlite3.node')
let passwordLibrary: string | undefined
startThreadsFromHere(globalThis.gatehouseLibrary, () => (passwordLibrary ??= library('bcrypt.node')))
if (forked !== undefined) await import(forked)
else {
  if (existsSync('.env')) process.loadEnvFile('.env')
  await import('../../src/process/main.ts')
}
