import { makeSealKeyFile } from '../core/barrier/seal.ts'
import { systemCode } from '../lib/system/private-file.ts'
import { type Command, CommandError, UsageError } from './command.ts'

/**
 * `gatehouse seal-key FILE` creates a seal key file that only its owner can read; never overwrites a file.
 * docs/operations.md#commands
 */
export const sealKey: Command = async (args) => {
  const [file, ...more] = args
  if (file === undefined || file.startsWith('-') || more.length > 0) throw new UsageError()
  try {
    makeSealKeyFile(file)
  } catch (cause) {
    const code = systemCode(cause)
    throw new CommandError(
      code === 'EEXIST' ? `${file} already exists; not overwritten` : `cannot write ${file}: ${code}`,
      { cause },
    )
  }
  process.stdout.write(`Seal key written to ${file}\n`)
}
