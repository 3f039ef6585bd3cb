import { isLoopbackHost } from '../lib/net/address.ts'
import { SettingError } from './setting.ts'
import type { Config } from './settings.ts'
import { isInside, isStoreFile, storeFiles } from './store-files.ts'

export function checkCombinations(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  if (config.dev && (config.seal !== 'static' || !config.autoInit)) {
    const name = config.seal === 'static' ? 'AUTO_INIT' : 'SEAL'
    throw new SettingError(`GATEHOUSE_${name}: npm run dev initializes and unseals itself`)
  }
  if (!config.dev && environment['GATEHOUSE_ROOT_TOKEN'] !== undefined) {
    throw new SettingError('GATEHOUSE_ROOT_TOKEN: only npm run dev accepts a root token from the environment')
  }
  checkWorkers(config)
  if (config.seal === 'command' && config.sealUnwrapCommand === undefined)
    throw new SettingError('GATEHOUSE_SEAL_UNWRAP_COMMAND: must be set with GATEHOUSE_SEAL=command')
  if ((config.unixSocketMode & 0o002) !== 0 && config.trustedProxies.includes('unix'))
    throw new SettingError(
      'GATEHOUSE_UNIX_SOCKET_MODE: with unix among GATEHOUSE_TRUSTED_PROXIES, everyone on this machine could name the address of a client',
    )
  const open = config.listen.find((at) => 'host' in at && !isLoopbackHost(at.host))
  checkTls(config)
  if (config.tls === 'auto' && config.tlsCertFile === undefined && open !== undefined && 'host' in open) {
    throw new SettingError(
      `GATEHOUSE_LISTEN: plain HTTP on ${open.host} is refused; set GATEHOUSE_TLS_CERT_FILE and GATEHOUSE_TLS_KEY_FILE, or GATEHOUSE_TLS=off if a proxy in front speaks TLS`,
    )
  }
  if (config.rootTokenFile !== undefined && isStoreFile(config, config.rootTokenFile))
    throw new SettingError(
      `GATEHOUSE_ROOT_TOKEN_FILE: ${config.rootTokenFile} is a database file or a seal key file`,
    )
  const openFolder = config.auditDirs.find((dir) => storeFiles(config).some((file) => isInside(dir, file)))
  if (openFolder !== undefined)
    throw new SettingError(
      `GATEHOUSE_AUDIT_DIRS: ${openFolder} contains a database file or a seal key file, which audit devices could damage`,
    )
  if (config.storagePassword !== undefined && config.storagePasswordFile !== undefined)
    throw new SettingError(
      'GATEHOUSE_STORAGE_PASSWORD: must not be set together with GATEHOUSE_STORAGE_PASSWORD_FILE',
    )
  if (config.defaultLeaseTtlMs > config.maxLeaseTtlMs)
    throw new SettingError('GATEHOUSE_DEFAULT_LEASE_TTL: must not be above GATEHOUSE_MAX_LEASE_TTL')
}

export function checkTls({ tls, tlsCertFile, tlsKeyFile, tlsClientCaFile, tlsClientAuth }: Config): void {
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    const [missing, given] = tlsCertFile === undefined ? ['CERT', 'KEY'] : ['KEY', 'CERT']
    throw new SettingError(
      `GATEHOUSE_TLS_${missing}_FILE: must be set together with GATEHOUSE_TLS_${given}_FILE`,
    )
  }
  if (tlsClientCaFile !== undefined && (tlsCertFile === undefined || tls === 'off'))
    throw new SettingError('GATEHOUSE_TLS_CLIENT_CA_FILE: client certificates need TLS')
  if (tlsClientAuth === 'require' && tlsClientCaFile === undefined)
    throw new SettingError('GATEHOUSE_TLS_CLIENT_AUTH: require needs GATEHOUSE_TLS_CLIENT_CA_FILE')
}

function checkWorkers({ workers, storage, seal }: Config): void {
  if (workers === 1) return
  const { kind }: { kind: string } = storage
  if (kind !== 'postgres')
    throw new SettingError(
      `GATEHOUSE_WORKERS: several processes need PostgreSQL; ${kind === 'sqlite' ? 'a SQLite file' : 'memory'} belongs to one process`,
    )
  if (seal === 'shamir')
    throw new SettingError(
      'GATEHOUSE_WORKERS: must be 1 with GATEHOUSE_SEAL=shamir, because the shares of the unseal key must reach one process',
    )
}
