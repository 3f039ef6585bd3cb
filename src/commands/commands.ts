import { SettingError } from '../config/setting.ts'
import { StartError } from '../errors.ts'
import { type Command, CommandError, UsageError } from './command.ts'

type ListedCommand = {
  readonly usage: string
  readonly summary: string
  /** Each command loads only what it needs. */
  load(): Promise<Command>
}

/** What an operator runs beside the server, by name. docs/operations.md#commands */
const commands: Readonly<Record<string, ListedCommand>> = {
  health: {
    usage: '',
    summary: 'Ask the server with the same settings whether it is ready',
    load: async () => (await import('./health.ts')).health,
  },
  init: {
    usage: '[--out FILE]',
    summary: 'Have the waiting server create its store (GATEHOUSE_AUTO_INIT=false)',
    load: async () => (await import('./init.ts')).init,
  },
  'root-token': {
    usage: '[--out FILE]',
    summary: 'Create a further root token',
    load: async () => (await import('./root-token.ts')).rootToken,
  },
  'seal-key': {
    usage: 'FILE',
    summary: 'Create a seal key file',
    load: async () => (await import('./seal-key.ts')).sealKey,
  },
  'seal-migrate': {
    usage: '--to static|command|shamir [--shares N --threshold N --out FILE]',
    summary: 'Replace the seal of a stopped store by one of another type',
    load: async () => (await import('./seal-migrate.ts')).sealMigrate,
  },
  backup: {
    usage: 'FILE',
    summary: 'Write a backup of the database',
    load: async () => (await import('./backup.ts')).backup,
  },
  restore: {
    usage: 'FILE [--force] [--revoke-tokens]',
    summary: 'Put a backup in place of the database',
    load: async () => (await import('./restore.ts')).restore,
  },
  verify: {
    usage:
      '[FILE] | --against URL --against-token-file FILE --to URL --to-token-file FILE ' +
      '[--only SECTIONS] [--except MOUNTS] [--json]',
    summary: 'Check a backup or the database, or compare this server with another one',
    load: async () => (await import('./verify.ts')).verify,
  },
  'storage-copy': {
    usage: 'FROM TO [--resume] [--verify-only]',
    summary: 'Move all records to another storage',
    load: async () => (await import('./storage-copy.ts')).storageCopy,
  },
  import: {
    usage:
      '--from URL --from-token-file FILE --to URL --to-token-file FILE ' +
      '[--only policies,auth,identity,kv,messages,namespaces] [--except MOUNTS] [--dry-run] [--update] ' +
      '[--watch [--every SECONDS]] [--passwords] [--secret-ids FILE] [--report FILE] | ' +
      '--plan [--json] --from URL --from-token-file FILE',
    summary: 'Copy a running Vault, OpenBao or Gatehouse into a running Gatehouse, or plan that',
    load: async () => (await import('./import.ts')).importCommand,
  },
  support: {
    usage: '--out FILE [--log FILE]',
    summary: 'Collect state, settings without secrets and recent log lines into one file',
    load: async () => (await import('./support.ts')).support,
  },
  'audit-verify': {
    usage: 'FILE… [--keys FILE] [--head ID:SEQ:HASH] [--mixed] [--json]',
    summary: 'Check the chain of audit files',
    load: async () => (await import('./audit-verify.ts')).auditVerify,
  },
}

const usageOf = (name: string) => `gatehouse ${name} ${commands[name]?.usage ?? ''}`.trimEnd()

export function helpText(): string {
  const lines = [
    ['gatehouse [server]', 'Start the server'],
    ['gatehouse dev', 'Start a server in memory, for development; its root token is "root"'],
    ...Object.entries(commands).map(([name, { summary }]) => [usageOf(name), summary]),
    ['gatehouse help [NAME]', 'Print this, or the usage of a command'],
    ['gatehouse --version', 'Print the version'],
  ].map(([usage, summary]) => `  ${usage}\n      ${summary}\n`)
  return `Usage:\n${lines.join('')}Settings are environment variables, GATEHOUSE_…: docs/settings.md\n`
}

/**
 * Runs a command and sets the exit code: 0 done, 1 failed, 2 invalid usage or setting, 3 storage in use.
 * Prints a failure as one line on standard error. docs/operations.md#commands
 */
export async function runCommand(name: string, args: string[]): Promise<void> {
  const listed = Object.hasOwn(commands, name) ? commands[name] : undefined
  try {
    if (listed === undefined) throw new UsageError(`unknown command ${name}; gatehouse --help lists them`)
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(`usage: ${usageOf(name)}\n`)
    const command = await listed.load()
    await command(args)
  } catch (error) {
    const code = exitCodeOf(error)
    if (code === undefined || !(error instanceof Error)) throw error
    process.stderr.write(`${error.message === '' ? `usage: ${usageOf(name)}` : error.message}\n`)
    process.exitCode = code
  }
}

function exitCodeOf(error: unknown): 1 | 2 | 3 | undefined {
  if (error instanceof CommandError) return 1
  if (error instanceof UsageError || error instanceof SettingError) return 2
  if (error instanceof StartError) return error.exitCode === 2 || error.exitCode === 3 ? error.exitCode : 1
  return undefined
}
