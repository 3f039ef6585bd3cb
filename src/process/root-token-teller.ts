import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Config } from '../config/settings.ts'
import { StartError } from '../errors.ts'
import { systemReason, writePrivateFile } from '../lib/system/private-file.ts'
import type { ServerParts } from '../server/server.ts'
import { exitCodes } from './exit.ts'

/** Delivers the first root token: to its file before it becomes valid, or to standard output afterwards. */
export function rootTokenTeller({ rootTokenFile }: Config): ServerParts['rootToken'] {
  if (rootTokenFile === undefined)
    return { check: checkStandardOutput, keep: () => {}, tell: (token) => print(`Root token: ${token}\n`) }
  return {
    check: () => {},
    keep: (token) => {
      try {
        writePrivateFile(rootTokenFile, `${token}\n`)
      } catch (cause) {
        throw new StartError(
          exitCodes.setting,
          `GATEHOUSE_ROOT_TOKEN_FILE: cannot write ${rootTokenFile}: ${systemReason(cause)}`,
          { cause },
        )
      }
    },
    tell: () => void process.stdout.write(`Root token written to ${rootTokenFile}\n`),
  }
}

/**
 * Refuses a closed standard output, which Node.js replaces with /dev/null: printed text would be lost without
 * an error.
 */
function checkStandardOutput(): void {
  const output = fstatSync(1)
  const isDiscarded = output.isCharacterDevice() && output.rdev === statSync(devNull).rdev
  if (isDiscarded) throw cannotPrint('standard output is closed or /dev/null', undefined)
}

function print(text: string): Promise<void> {
  return new Promise((settle, reject) => {
    const failed = (cause: Error) => reject(cannotPrint(`standard output: ${systemReason(cause)}`, cause))
    process.stdout.once('error', failed)
    process.stdout.write(text, (cause) => (cause instanceof Error ? failed(cause) : settle()))
  })
}

const cannotPrint = (reason: string, cause: unknown) =>
  new StartError(
    exitCodes.setting,
    `cannot print the root token (${reason}); nothing is lost: restart with standard output open, or set GATEHOUSE_ROOT_TOKEN_FILE`,
    { cause },
  )
