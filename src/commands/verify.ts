import { existsSync } from 'node:fs'
import type { StoredKeys } from '../core/barrier/stored-keys.ts'
import { asBroken, BrokenDatabase, type Verified, verifyDatabase } from '../storage/copies/verify.ts'
import { PostgresReading } from '../storage/postgres/reading.ts'
import { type Command, CommandError, commandFailure, UsageError } from './command.ts'
import { keysOf, openForReading, type StoreSource, settingsOf, sourceOf } from './stored-database.ts'

/**
 * `gatehouse verify [FILE]` checks a backup, or without FILE the database that the settings name: structure,
 * number and digest of its records, and with the seal key also that each record can be opened. With `--against`, it
 * compares two running servers. docs/operations.md#backup-and-restore
 */
export const verify: Command = async (args) => {
  if (args.includes('--against')) return (await import('./verify-against.ts')).verifyAgainst(args)
  const [given, ...more] = args
  if (given?.startsWith('-') === true || more.length > 0) throw new UsageError()
  const config = settingsOf(process.env)
  const { source, name } = given === undefined ? sourceOf(config, 'nothing to verify') : fileNamed(given)
  try {
    await using reader = await openForReading(source)
    using keys = await keysOf(config, reader.get)
    const opening = openAll(keys)
    const result =
      reader instanceof PostgresReading
        ? { ...(await reader.sum(opening.open)), facts: undefined }
        : verifyDatabase(name, opening.open)
    opening.check()
    report(name, result, keys !== undefined)
  } catch (error) {
    const cause = asBroken(error)
    if (!(cause instanceof BrokenDatabase)) throw commandFailure(`cannot verify ${name}`, cause)
    throw new CommandError(`${name}: broken: ${cause.message}`, { cause })
  }
}

function fileNamed(name: string): StoreSource {
  if (!existsSync(name)) throw new CommandError(`cannot open ${name}: ENOENT`)
  return { source: name, name }
}

function openAll(keys: StoredKeys | undefined) {
  const unopened: string[] = []
  return {
    open: (key: string, value: Uint8Array) => {
      try {
        keys?.unseal(key, value)
      } catch {
        unopened.push(key)
      }
    },
    /** Throws a BrokenDatabase if the keys do not open a record. */
    check: () => {
      const [first, ...others] = unopened
      if (first === undefined) return
      const rest = others.length === 0 ? '' : ` and ${others.length} more`
      throw new BrokenDatabase(`its keys do not open the record ${first}${rest}`)
    },
  }
}

function report(file: string, { records, digest, facts }: Verified, isOpened: boolean): void {
  const made =
    facts === undefined
      ? ''
      : `, backup of ${facts.created_time} by version ${facts.product_version}, cluster ${facts.cluster_id}`
  const seals = isOpened ? 'every seal opened' : 'seals not checked: no seal key'
  process.stdout.write(`${file}: ${records} records, digest ${digest}${made}\nintact; ${seals}\n`)
}
