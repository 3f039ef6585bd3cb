import { Buffer } from 'node:buffer'
import { StartError } from '../../errors.ts'
import type { Random } from '../../lib/system/random.ts'
import { CommandFailure, runShell } from '../../lib/system/shell-command.ts'
import { newKey } from '../barrier/root-key.ts'
import { sealKeyIn, sealKeyLine } from '../barrier/seal.ts'

/** The operator's commands, which wrap a seal key and unwrap it. docs/contract/seal.md#a-command */
export type SealCommands = {
  readonly wrap: string | undefined
  readonly unwrap: string
  readonly timeoutMs: number
}

const maxBytes = 64 * 1024

/**
 * Makes a seal key, has it wrapped, and checks that it can be unwrapped. The caller must erase the key. Throws a
 * StartError: 2 without a command, 5 if one of them fails.
 */
export async function makeWrappedKey(
  commands: SealCommands,
  random: Random,
): Promise<{ key: Buffer; wrapped: string }> {
  const { wrap, timeoutMs } = commands
  if (wrap === undefined)
    throw new StartError(2, 'GATEHOUSE_SEAL_WRAP_COMMAND: must be set to make a seal key')
  const key = newKey(random)
  const line = sealKeyLine(key)
  try {
    const output = await run('WRAP', wrap, { input: line, timeoutMs })
    if (output.length === 0) throw new StartError(5, 'GATEHOUSE_SEAL_WRAP_COMMAND printed nothing')
    if (output.includes(line.subarray(0, -1)))
      throw new StartError(5, 'GATEHOUSE_SEAL_WRAP_COMMAND printed the key as it was')
    const wrapped = output.toString('base64')
    const again = await unwrapKey(commands, wrapped)
    const isSame = again.equals(key)
    again.fill(0)
    if (!isSame) throw new StartError(5, 'GATEHOUSE_SEAL_UNWRAP_COMMAND printed another key')
    return { key, wrapped }
  } catch (cause) {
    key.fill(0)
    throw cause
  } finally {
    line.fill(0)
  }
}

/** The key that was wrapped, which the caller must erase. Throws a StartError (5). */
export async function unwrapKey({ unwrap, timeoutMs }: SealCommands, wrapped: string): Promise<Buffer> {
  const output = await run('UNWRAP', unwrap, { input: Buffer.from(wrapped, 'base64'), timeoutMs })
  const key = sealKeyIn(output)
  output.fill(0)
  if (key === undefined)
    throw new StartError(5, 'GATEHOUSE_SEAL_UNWRAP_COMMAND did not print 32 bytes as hex or base64')
  return key
}

async function run(
  name: 'WRAP' | 'UNWRAP',
  command: string,
  options: { input: Uint8Array; timeoutMs: number },
): Promise<Buffer> {
  try {
    return await runShell(command, { ...options, maxBytes })
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause
    throw new StartError(5, `GATEHOUSE_SEAL_${name}_COMMAND ${cause.message}`, { cause })
  }
}
