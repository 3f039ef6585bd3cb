import { get, type IncomingMessage } from 'node:http'
import { get as getSecurely } from 'node:https'
import { text } from 'node:stream/consumers'
import { type Config, tlsSettings } from '../config.ts'
import { systemCode } from '../lib/private-file.ts'
import { type Command, CommandError, UsageError } from './command.ts'
import { settingsOf } from './stored-database.ts'

const maxWaitMs = 3000

/**
 * `gatehouse health` asks the server that has the same settings whether it is ready, for health checks of
 * containers. docs/operations.md#commands
 */
export const health: Command = async (args) => {
  if (args.length > 0) throw new UsageError()
  const address = addressOf(settingsOf(process.env))
  const response = await request(address).catch((cause: unknown) => {
    throw new CommandError(`no response from ${shown(address)}: ${systemCode(cause)}`, { cause })
  })
  const body = await text(response)
  if (response.statusCode !== 200) throw new CommandError(body.trim())
  process.stdout.write(`${body.trim()}\n`)
}

type Address =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly tls: boolean }

/** The listener that is always plain HTTP, if there is one. */
function addressOf(config: Config): Address {
  const { listen, metricsListen } = config
  const at = metricsListen ?? listen.find((one) => 'path' in one) ?? listen[0]
  if (at === undefined) throw new UsageError('GATEHOUSE_LISTEN names no address')
  if ('path' in at) return { socketPath: at.path }
  const tls = metricsListen === undefined && tlsSettings(config) !== undefined
  return { host: hereOf[at.host] ?? at.host, port: at.port, tls }
}

/** Addresses of this machine for those that stand for all of them. */
const hereOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const shown = (at: Address): string => ('host' in at ? `${at.host}:${at.port}` : at.socketPath)

function request(at: Address): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const signal = AbortSignal.timeout(maxWaitMs)
  // the certificate is for the name that clients use; nothing secret is sent or received
  const options = { ...at, path: '/health/ready', signal, agent: false, rejectUnauthorized: false }
  const ask = 'tls' in at && at.tls ? getSecurely : get
  ask(options, resolve).on('error', reject)
  return promise
}
