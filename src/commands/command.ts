import { SettingError } from '../config.ts'
import { StartError } from '../errors.ts'

/** The command failed; the text is for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The arguments are invalid. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Runs a command and sets the exit code: 0 done, 1 failed, 2 invalid usage or setting, 3 storage in use.
 * Prints a failure as one line on standard error. docs/operations.md#commands
 */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const code = exitCodeOf(error)
    if (code === undefined || !(error instanceof Error)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = code
  }
}

/** An error of the system or of the storage engine, as a failure of the command. Returns any other error. */
export function commandFailure(what: string, cause: unknown): unknown {
  if (!(cause instanceof Error) || !('code' in cause)) return cause
  return new CommandError(`${what}: ${cause.message}`, { cause })
}

function exitCodeOf(error: unknown): 1 | 2 | 3 | undefined {
  if (error instanceof CommandError) return 1
  if (error instanceof UsageError || error instanceof SettingError) return 2
  if (error instanceof StartError) return error.exitCode === 2 || error.exitCode === 3 ? error.exitCode : 1
  return undefined
}
