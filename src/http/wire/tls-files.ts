import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { systemReason } from '../../lib/system/private-file.ts'

/** The settings of TLS. docs/tls.md */
export type TlsSettings = {
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** The authorities of client certificates; undefined: clients are not asked for one. */
  readonly clientCaFile: string | undefined
  /** Whether a client without a certificate is refused. */
  readonly requiresClientCertificate: boolean
}

/** What the files held when they were read. */
export type TlsMaterial = {
  readonly context: SecureContextOptions
  /** When the certificate of the server expires, in milliseconds. */
  readonly expiresAt: number
}

/** The files cannot be used. The message names the setting, and nothing of a key. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError'
}

/** Forward secrecy and authenticated encryption only, as HTTP/2 requires (RFC 9113 §9.2.2). */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Reads certificate, key and authorities, and checks that they fit together. Throws a `TlsFileError`. */
export async function readTlsFiles(settings: TlsSettings): Promise<TlsMaterial> {
  const { certFile, keyFile, clientCaFile, minVersion } = settings
  const [cert, key, ca] = await Promise.all([
    read('TLS_CERT_FILE', certFile),
    read('TLS_KEY_FILE', keyFile),
    clientCaFile === undefined ? undefined : read('TLS_CLIENT_CA_FILE', clientCaFile),
  ])
  const own = checked('TLS_CERT_FILE', 'has no certificate in PEM', () => new X509Certificate(cert))
  const privateKey = checked('TLS_KEY_FILE', 'has no unencrypted private key in PEM', () =>
    createPrivateKey(key),
  )
  if (!own.checkPrivateKey(privateKey))
    throw new TlsFileError('GATEHOUSE_TLS_KEY_FILE: the key does not belong to the certificate')
  // without any, Node.js would accept the certificates of all public authorities
  const authorities = ca === undefined ? undefined : certificatesIn(ca)
  for (const one of authorities ?? [])
    checked('TLS_CLIENT_CA_FILE', 'has a certificate that cannot be read', () => new X509Certificate(one))
  if (authorities?.length === 0)
    throw new TlsFileError('GATEHOUSE_TLS_CLIENT_CA_FILE: has no certificate in PEM')
  const context = {
    cert,
    key,
    ciphers,
    minVersion,
    ...(authorities === undefined ? {} : { ca: authorities }),
  }
  checked('TLS_CERT_FILE', 'has a chain that cannot be used', () => createSecureContext(context))
  return { context, expiresAt: own.validToDate.getTime() }
}

const certificatesIn = (text: string): string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []

function checked<T>(setting: string, problem: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new TlsFileError(`GATEHOUSE_${setting}: ${problem}`, { cause })
  }
}

async function read(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new TlsFileError(`GATEHOUSE_${setting}: cannot read ${file}: ${systemReason(cause)}`, { cause })
  }
}
