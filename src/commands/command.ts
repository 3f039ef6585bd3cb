import { type ParseArgsConfig, parseArgs } from 'node:util'
import { systemReason } from '../lib/system/private-file.ts'

/** What `gatehouse NAME` runs, with the arguments after the name. Throws one of the errors below, or a bug. */
export type Command = (args: string[]) => Promise<void>

/** The command failed; the text is for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The arguments are invalid. Without a text, the operator is shown the usage of the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function parsedArguments<const Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config)
  } catch (cause) {
    throw new UsageError('', { cause })
  }
}

/** Runs `work`. If the system fails it, the command fails with `what` and the reason. */
export function orFail<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new CommandError(`${what}: ${systemReason(cause)}`, { cause })
  }
}

/** An error of the system or of the storage engine, as a failure of the command. Returns any other error. */
export function commandFailure(what: string, cause: unknown): unknown {
  if (!(cause instanceof Error) || !('code' in cause)) return cause
  return new CommandError(`${what}: ${cause.message}`, { cause })
}
