import { availableParallelism } from 'node:os'
import type { Config } from './settings.ts'

/** What the server listens on, with the access to Unix sockets. */
export const listenAddresses = ({ listen, unixSocketMode, unixSocketGroup }: Config) =>
  listen.map((at) => ('path' in at ? { ...at, mode: unixSocketMode, group: unixSocketGroup } : at))

/** How networks are served with TLS; undefined for plain HTTP. docs/tls.md */
export function tlsSettings(config: Config) {
  const { tls, tlsCertFile: certFile, tlsKeyFile: keyFile, tlsClientCaFile: clientCaFile } = config
  if (tls === 'off' || certFile === undefined || keyFile === undefined) return undefined
  return {
    certFile,
    keyFile,
    clientCaFile,
    minVersion: config.tlsMinVersion === '1.3' ? ('TLSv1.3' as const) : ('TLSv1.2' as const),
    requiresClientCertificate: config.tlsClientAuth === 'require',
  }
}

/** How to connect to the PostgreSQL database; undefined with another storage. */
export function postgresConnection(config: Config) {
  const { storage, storagePassword: password, storagePasswordFile: passwordFile } = config
  if (storage.kind !== 'postgres') return undefined
  return {
    address: storage,
    password,
    passwordFile,
    caFile: config.storageCaFile,
    statementTimeoutMs: config.postgresStatementTimeoutMs,
    prepares: config.postgresPrepare,
  }
}

/** The number of processes that serve requests. */
export const workerCount = ({ workers }: Config): number =>
  workers === 'auto' ? availableParallelism() : workers
