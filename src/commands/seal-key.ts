import { makeSealKeyFile } from '../core/barrier/seal.ts'
import { systemCode } from '../lib/private-file.ts'
import { CommandError, runCommand, UsageError } from './command.ts'

/**
 * `npm run seal:key -- FILE` creates a seal key file that only its owner can read; never overwrites a file.
 * docs/operations.md#commands
 */
await runCommand(async () => {
  const [file, ...more] = process.argv.slice(2)
  if (file === undefined || file.startsWith('-') || more.length > 0)
    throw new UsageError('usage: npm run seal:key -- FILE')
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
})
