import { closeSync, openSync } from 'node:fs'
import { systemReason, writePrivateFile } from '../lib/system/private-file.ts'
import { CommandError } from './command.ts'

/** Finds out before the token exists whether the file can be written. */
export function checkOutput(out: string | undefined): void {
  if (out === undefined) return
  try {
    closeSync(openSync(out, 'a', 0o600))
  } catch (cause) {
    throw new CommandError(`cannot write ${out}: ${systemReason(cause)}`, { cause })
  }
}

export function outputToken(token: string, out: string | undefined): void {
  if (out === undefined) {
    process.stdout.write(`Root token: ${token}\n`)
    return
  }
  try {
    writePrivateFile(out, `${token}\n`)
  } catch (cause) {
    throw new CommandError(`cannot write ${out}: ${systemReason(cause)}`, { cause })
  }
  process.stdout.write(`Root token written to ${out}\n`)
}
