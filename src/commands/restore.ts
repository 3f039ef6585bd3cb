import { parseArgs } from 'node:util'
import { isStoreFile } from '../config.ts'
import { restorationNote } from '../core/restoration-note.ts'
import { restoreBackup } from '../storage/restore.ts'
import { commandFailure, runCommand, UsageError } from './command.ts'
import { settingsOf } from './stored-database.ts'

/**
 * `npm run restore -- FILE [--force] [--revoke-tokens]` puts a backup in place of the database that the
 * settings name. docs/operations.md#backup-and-restore
 */
await runCommand(async () => {
  const { backup, force, revokeTokens } = readArguments(process.argv.slice(2))
  const config = settingsOf(process.env)
  if (config.storage.kind !== 'sqlite')
    throw new UsageError(`GATEHOUSE_STORAGE: ${config.storage.kind}: storage cannot be restored`)
  if (isStoreFile(config, backup)) throw new UsageError(`${backup} is a database file or a seal key file`)
  const { path } = config.storage
  const now = new Date().toISOString()
  try {
    const { facts, kept } = await restoreBackup({
      ...{ backup, path, force, stamp: now.replaceAll(':', '-') },
      noteOf: ({ created_time }) =>
        restorationNote({ backup_time: created_time, restored_time: now, revoke_tokens: revokeTokens }),
    })
    process.stdout.write(`Restored ${facts.records} records of ${facts.created_time} to ${path}\n`)
    if (kept !== undefined) process.stdout.write(`The replaced database is ${kept}\n`)
    process.stderr.write(warningOf(facts.created_time, revokeTokens))
  } catch (cause) {
    throw commandFailure(`cannot restore ${backup} to ${path}`, cause)
  }
})

function readArguments(args: string[]): { backup: string; force: boolean; revokeTokens: boolean } {
  const usage = 'usage: npm run restore -- FILE [--force] [--revoke-tokens]'
  const isSet = { type: 'boolean', default: false } as const
  try {
    const options = { force: isSet, 'revoke-tokens': isSet }
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [backup, ...more] = positionals
    if (backup === undefined || more.length > 0) throw new UsageError(usage)
    return { backup, force: values.force, revokeTokens: values['revoke-tokens'] }
  } catch (cause) {
    throw new UsageError(usage, { cause })
  }
}

function warningOf(time: string, revokeTokens: boolean): string {
  return revokeTokens
    ? 'warning: the next start revokes all service tokens except root tokens; batch tokens stay valid\n'
    : `warning: tokens revoked since ${time} are valid again; --revoke-tokens drops all service tokens except root tokens\n`
}
