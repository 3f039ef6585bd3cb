import type { Reloadable } from '../config/config.ts'
import { tlsSettings } from '../config/connections.ts'
import type { Config } from '../config/settings.ts'
import { StartError } from '../errors.ts'
import { CommonHeaders } from '../http/exchange/common-headers.ts'
import { CustomHeadersError, readCustomHeaders } from '../http/exchange/custom-headers.ts'
import { TlsFileError, type TlsSettings } from '../http/wire/tls-files.ts'
import { TlsIdentity } from '../http/wire/tls-identity.ts'
import type { TlsParts } from '../http/wire/web-server.ts'
import type { Clock } from '../lib/system/clock.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { handshakeLog } from './handshake-log.ts'

type Given = {
  readonly log: Log
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'tlsReloaded' | 'refused'>
}

/** What the server has read from files that SIGHUP reads again: the certificate, and custom headers. */
export type ServedFiles = {
  /** Undefined without TLS. */
  readonly tls: TlsParts | undefined
  readonly common: CommonHeaders
  /** Reads the files of these settings. One that cannot be used changes nothing, and is logged. Never rejects. */
  reload(settings: Reloadable): Promise<void>
}

/** Throws a StartError. */
export async function openServedFiles(config: Config, given: Given): Promise<ServedFiles> {
  const tls = await orStartError(openTls(config, given))
  const common = new CommonHeaders(await orStartError(headersIn(config.customHeadersFile)))
  let file = config.customHeadersFile
  if (tls !== undefined && tls.identity.expiresAt <= Date.now())
    given.log.warn({ event: 'certificate_expired' }, 'the certificate of the server has expired')
  return {
    tls,
    common,
    reload: async (settings) => {
      const { customHeadersFile } = settings
      await reloadTls(tls?.identity, tlsSettings({ ...config, ...settings }), given)
      if (customHeadersFile !== file || file !== undefined)
        await reloadHeaders(customHeadersFile, common, given.log)
      file = customHeadersFile
    },
  }
}

async function openTls(config: Config, { log, clock, metrics }: Given): Promise<TlsParts | undefined> {
  const settings = tlsSettings(config)
  if (settings === undefined) return undefined
  const identity = await TlsIdentity.read(settings)
  const http2 = config.http2 ? (await import('../http/wire/http2-sessions.ts')).Http2Sessions : undefined
  const logRefusal = handshakeLog(log, clock)
  return {
    identity,
    http2,
    onRefused: (refused) => {
      metrics.refused('handshake')
      logRefusal(refused)
    },
  }
}

/** Connections that exist keep the former certificate. */
async function reloadTls(
  identity: TlsIdentity | undefined,
  settings: TlsSettings | undefined,
  { log, metrics }: Given,
): Promise<void> {
  if (identity === undefined && settings === undefined) return
  try {
    if (identity === undefined || settings === undefined)
      throw new TlsFileError('GATEHOUSE_TLS_CERT_FILE: TLS is turned on or off only at a start')
    await identity.reload(settings)
    metrics.tlsReloaded(true)
    const expires = new Date(identity.expiresAt).toISOString()
    const text = 'new connections get the certificate read now'
    log.info({ event: 'reloaded', certificate_expires: expires }, text)
  } catch (error) {
    metrics.tlsReloaded(false)
    const reason = reasonOf(error)
    log.error({ event: 'reload_failed', reason }, `the former certificate stays in use: ${reason}`)
  }
}

const headersIn = async (file: string | undefined) =>
  file === undefined ? {} : await readCustomHeaders(file)

async function reloadHeaders(file: string | undefined, common: CommonHeaders, log: Log): Promise<void> {
  try {
    common.replace(await headersIn(file))
    log.info({ event: 'reloaded' }, 'responses get the custom headers read now')
  } catch (error) {
    const reason = reasonOf(error)
    log.error({ event: 'reload_failed', reason }, `the former custom headers stay in use: ${reason}`)
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const orStartError = <T>(reading: Promise<T>): Promise<T> =>
  reading.catch((cause: unknown) => {
    const isSetting = cause instanceof TlsFileError || cause instanceof CustomHeadersError
    throw isSetting ? new StartError(2, cause.message, { cause }) : cause
  })
