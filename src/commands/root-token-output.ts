import { closeSync, openSync } from 'node:fs'
import { writePrivateFile } from '../lib/system/private-file.ts'
import { orFail } from './command.ts'

/** Finds out before the token exists whether the file can be written. */
export function checkOutput(out: string | undefined): void {
  if (out === undefined) return
  orFail(`cannot write ${out}`, () => closeSync(openSync(out, 'a', 0o600)))
}

export function outputToken(token: string, out: string | undefined): void {
  if (out === undefined) {
    process.stdout.write(`Root token: ${token}\n`)
    return
  }
  orFail(`cannot write ${out}`, () => writePrivateFile(out, `${token}\n`))
  process.stdout.write(`Root token written to ${out}\n`)
}
