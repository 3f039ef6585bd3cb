import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExecutable } from './executable.ts'

/** `npm run release`: the product as one file, for the platform of this machine. */
const folder = join(import.meta.dirname, '../out')
await rm(folder, { recursive: true, force: true })
process.stdout.write(`${await buildExecutable(folder)}\n`)
