import { readFile } from 'node:fs/promises'
import type { EnvironmentSettings } from '../../../config/cloud.ts'
import { caCertificates } from '../../../core/outbound/outbound.ts'
import { StartError } from '../../../errors.ts'
import { systemReason } from '../../../lib/system/private-file.ts'
import { type ClientCertificate, UnusableCertificate } from '../certificates/client-certificate.ts'
import { readCertificate } from '../certificates/read-certificate.ts'
import type { OperatorSettings } from './effective-settings.ts'

/** Reads the files. Throws a StartError if one cannot be used. docs/contract/cloud.md#endpoints */
export async function operatorSettings(settings: EnvironmentSettings): Promise<OperatorSettings> {
  const { caFile, clientCertificatePath } = settings
  return {
    ...settings,
    caPem: await authorities(caFile),
    certificate: await certificate(clientCertificatePath, settings.clientCertificatePassword),
  }
}

async function authorities(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  const caPem = (await read('CLOUD_CA_FILE', path)).toString()
  if (caCertificates(caPem).length === 0)
    throw new StartError(2, `CLOUD_CA_FILE: there is no certificate in ${path}`)
  return caPem
}

async function certificate(path: string | undefined, password = ''): Promise<ClientCertificate | undefined> {
  if (path === undefined) return undefined
  const name = 'CLOUD_CLIENT_CERTIFICATE_PATH'
  const bytes = await read(name, path)
  const text = bytes.includes('-----BEGIN ') ? bytes.toString() : bytes.toString('base64')
  try {
    // the cloud refuses one that has ended, and the server starts all the same
    return await readCertificate(text, password, 0)
  } catch (cause) {
    if (!(cause instanceof UnusableCertificate)) throw cause
    throw new StartError(2, `${name}: ${path} cannot be used: ${cause.message}`)
  }
}

async function read(name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw new StartError(2, `${name}: cannot read ${path}: ${systemReason(cause)}`, { cause })
  }
}
