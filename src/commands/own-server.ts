import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request as send } from 'node:http'
import { request as sendSecurely } from 'node:https'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import { tlsSettings } from '../config/connections.ts'
import type { Config } from '../config/settings.ts'
import { systemCode } from '../lib/system/private-file.ts'
import { CommandError, UsageError } from './command.ts'

type Address =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number; readonly tls: boolean }

class ForeignCertificate extends Error {}

export type OwnRequest = {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly token?: string | undefined
  readonly body?: object
  /** The file of the server's certificate, if nobody else may see what is sent or received. */
  readonly certificate?: string | undefined
  readonly waitMs: number
}

export type OwnResponse = { readonly status: number; readonly body: string }

/** The listener for health and metrics, which is always plain HTTP, if there is one. */
export function healthAddress(config: Config): Address {
  const { metricsListen } = config
  return metricsListen === undefined ? apiAddress(config) : { ...hereAt(metricsListen), tls: false }
}

/** A Unix socket if there is one, otherwise the first address. */
export function apiAddress(config: Config): Address {
  const { listen } = config
  const at = listen.find((one) => 'path' in one) ?? listen[0]
  if (at === undefined) throw new UsageError('GATEHOUSE_LISTEN names no address')
  if ('path' in at) return { socketPath: at.path }
  return { ...hereAt(at), tls: tlsSettings(config) !== undefined }
}

const hereAt = ({ host, port }: { readonly host: string; readonly port: number }) => ({
  host: hereOf[host] ?? host,
  port,
})

/** Addresses of this machine for those that stand for all of them. */
const hereOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const shown = (at: Address): string => ('host' in at ? `${at.host}:${at.port}` : at.socketPath)

/** Throws a CommandError if there is no response. */
export async function askOwnServer(at: Address, request: OwnRequest): Promise<OwnResponse> {
  try {
    const response = await responseOf(at, request)
    return { status: response.statusCode ?? 0, body: await text(response) }
  } catch (cause) {
    const reason = cause instanceof ForeignCertificate ? cause.message : systemCode(cause)
    throw new CommandError(`no response from ${shown(at)}: ${reason}`, { cause })
  }
}

function responseOf(
  at: Address,
  { method = 'GET', path, token, body, certificate, waitMs }: OwnRequest,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = {
    ...at,
    path,
    method,
    agent: false,
    signal: AbortSignal.timeout(waitMs),
    headers: { ...(token !== undefined && { 'X-Vault-Token': token }) },
    // the certificate is for the name that clients use
    rejectUnauthorized: false,
  }
  const isSecure = 'tls' in at && at.tls
  const own =
    isSecure && certificate !== undefined ? new X509Certificate(readFileSync(certificate)) : undefined
  const sent = (isSecure ? sendSecurely : send)(options, resolve).on('error', reject)
  const finish = () => sent.end(body === undefined ? undefined : JSON.stringify(body))
  if (own === undefined) finish()
  else
    sent.once('socket', (socket) =>
      socket.once('secureConnect', () =>
        hasCertificate(socket, own)
          ? finish()
          : sent.destroy(new ForeignCertificate('it has another certificate')),
      ),
    )
  return promise
}

/** Only the server has the key of its certificate. */
const hasCertificate = (socket: unknown, { raw }: X509Certificate): boolean =>
  socket instanceof TLSSocket && socket.getPeerX509Certificate()?.raw.equals(raw) === true
