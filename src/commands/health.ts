import { type Command, CommandError, UsageError } from './command.ts'
import { askOwnServer, healthAddress } from './own-server.ts'
import { settingsOf } from './stored-database.ts'

const waitMs = 3000

/**
 * `gatehouse health` asks the server that has the same settings whether it is ready, for health checks of
 * containers. docs/operations.md#commands
 */
export const health: Command = async (args) => {
  if (args.length > 0) throw new UsageError()
  const config = settingsOf(process.env)
  const { status, body } = await askOwnServer(healthAddress(config), { path: '/health/ready', waitMs })
  if (status !== 200) throw new CommandError(body.trim())
  process.stdout.write(`${body.trim()}\n`)
}
