import { restorationNote } from '../core/barrier/restoration-note.ts'
import { restoreToPostgres } from '../storage/copies/postgres-restore.ts'
import { type RestoreOptions, restoreBackup } from '../storage/copies/restore.ts'
import { type Command, commandFailure, parsedArguments, UsageError } from './command.ts'
import { checkIsOther, placeOf, settingsOf } from './stored-database.ts'

/**
 * `gatehouse restore FILE [--force] [--revoke-tokens]` puts a backup in place of the database that the
 * settings name. docs/operations.md#backup-and-restore
 */
export const restore: Command = async (args) => {
  const { backup, force, revokeTokens } = readArguments(args)
  const config = settingsOf(process.env)
  checkIsOther(config, backup)
  const now = new Date().toISOString()
  const options: Omit<RestoreOptions, 'path'> = {
    backup,
    force,
    stamp: now.replaceAll(':', '-'),
    noteOf: ({ created_time }) =>
      restorationNote({ backup_time: created_time, restored_time: now, revoke_tokens: revokeTokens }),
  }
  const target = placeOf(config)
  if (target === undefined)
    throw new UsageError(`GATEHOUSE_STORAGE: ${config.storage.kind}: storage cannot be restored`)
  const { source, name } = target
  try {
    const { facts, kept } = await (typeof source === 'string'
      ? restoreBackup({ ...options, path: source })
      : restoreToPostgres({ ...options, connection: source, name }))
    process.stdout.write(`Restored ${facts.records} records of ${facts.created_time} to ${name}\n`)
    if (kept !== undefined) process.stdout.write(`The replaced database is ${kept}\n`)
    process.stderr.write(warningOf(facts.created_time, revokeTokens))
  } catch (cause) {
    throw commandFailure(`cannot restore ${backup} to ${name}`, cause)
  }
}

function readArguments(args: string[]): { backup: string; force: boolean; revokeTokens: boolean } {
  const isSet = { type: 'boolean', default: false } as const
  const options = { force: isSet, 'revoke-tokens': isSet }
  const { values, positionals } = parsedArguments({ args, options, allowPositionals: true })
  const [backup, ...more] = positionals
  if (backup === undefined || more.length > 0) throw new UsageError()
  return { backup, force: values.force, revokeTokens: values['revoke-tokens'] }
}

function warningOf(time: string, revokeTokens: boolean): string {
  return revokeTokens
    ? 'warning: the next start revokes all service tokens except root tokens; batch tokens stay valid\n'
    : `warning: tokens revoked since ${time} are valid again; --revoke-tokens drops all service tokens except root tokens\n`
}
