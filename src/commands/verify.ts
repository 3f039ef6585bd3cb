import { existsSync } from 'node:fs'
import type { StoredKeys } from '../core/barrier/stored-keys.ts'
import { openReadOnly } from '../storage/read-only.ts'
import { asBroken, BrokenDatabase, type Verified, verifyDatabase } from '../storage/verify.ts'
import { CommandError, commandFailure, runCommand, UsageError } from './command.ts'
import { databaseOf, keysOf, settingsOf } from './stored-database.ts'

/**
 * `npm run verify -- [FILE]` checks a backup, or without FILE the database that the settings name: structure,
 * number and digest of its records, and with the seal key also that each record can be opened.
 * docs/operations.md#backup-and-restore
 */
await runCommand(async () => {
  const [given, ...more] = process.argv.slice(2)
  if (given?.startsWith('-') === true || more.length > 0)
    throw new UsageError('usage: npm run verify -- [FILE]')
  const config = settingsOf(process.env)
  const file = given ?? databaseOf(config, 'nothing to verify')
  if (!existsSync(file)) throw new CommandError(`cannot open ${file}: ENOENT`)
  try {
    using reader = openReadOnly(file)
    using keys = await keysOf(config, reader.get)
    report(file, verified(file, keys), keys !== undefined)
  } catch (error) {
    const cause = asBroken(error)
    if (!(cause instanceof BrokenDatabase)) throw commandFailure(`cannot verify ${file}`, cause)
    throw new CommandError(`${file}: broken: ${cause.message}`, { cause })
  }
})

/** Opens each record with the keys, if there are any. */
function verified(file: string, keys: StoredKeys | undefined): Verified {
  const unopened: string[] = []
  const result = verifyDatabase(file, (key, value) => {
    try {
      keys?.unseal(key, value)
    } catch {
      unopened.push(key)
    }
  })
  const [first, ...others] = unopened
  if (first === undefined) return result
  const rest = others.length === 0 ? '' : ` and ${others.length} more`
  throw new BrokenDatabase(`its keys do not open the record ${first}${rest}`)
}

function report(file: string, { records, digest, facts }: Verified, isOpened: boolean): void {
  const made =
    facts === undefined
      ? ''
      : `, backup of ${facts.created_time} by version ${facts.product_version}, cluster ${facts.cluster_id}`
  const seals = isOpened ? 'every seal opened' : 'seals not checked: no seal key'
  process.stdout.write(`${file}: ${records} records, digest ${digest}${made}\nintact; ${seals}\n`)
}
