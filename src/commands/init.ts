import { z } from 'zod'
import { type Command, CommandError, parsedArguments, UsageError } from './command.ts'
import { apiAddress, askOwnServer } from './own-server.ts'
import { checkOutput, outputToken } from './root-token-output.ts'
import { checkIsOther, settingsOf } from './stored-database.ts'

/** Creating a store may wait for a slow disk. */
const waitMs = 60_000

const answer = z.object({ root_token: z.string() })
const refusal = z.object({ errors: z.array(z.string()) })

/**
 * `gatehouse init [--out FILE]` has the server that has the same settings, and waits with an empty store, create that
 * store. docs/operations.md#first-start-with-a-key-file
 */
export const init: Command = async (args) => {
  const { out } = parsedArguments({ args, options: { out: { type: 'string' } } }).values
  const config = settingsOf(process.env)
  if (config.seal === 'shamir')
    throw new UsageError('shares open this store: whoever gets them runs vault operator init')
  checkIsOther(config, out)
  checkOutput(out)
  const response = await askOwnServer(apiAddress(config), {
    method: 'POST',
    path: '/v1/sys/init',
    body: {},
    waitMs,
    certificate: config.tlsCertFile,
  })
  if (response.status !== 200) throw new CommandError(refusalIn(response.body))
  outputToken(answer.parse(JSON.parse(response.body)).root_token, out)
}

function refusalIn(body: string): string {
  try {
    return `the server made no store: ${refusal.parse(JSON.parse(body)).errors.join('; ')}`
  } catch {
    return 'the server made no store'
  }
}
