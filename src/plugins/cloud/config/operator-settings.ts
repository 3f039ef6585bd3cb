import { readFile } from 'node:fs/promises'
import { caCertificates } from '../../../core/outbound.ts'
import { StartError } from '../../../errors.ts'
import { systemCode } from '../../../lib/private-file.ts'
import type { EnvironmentSettings } from '../upstream/index.ts'
import type { OperatorSettings } from './effective-settings.ts'

/** Reads `CLOUD_CA_FILE`. Throws a StartError if it has no certificate. docs/contract/cloud.md#endpoints */
export async function operatorSettings(settings: EnvironmentSettings): Promise<OperatorSettings> {
  const { caFile } = settings
  if (caFile === undefined) return settings
  try {
    const caPem = await readFile(caFile, 'utf8')
    if (caCertificates(caPem).length === 0)
      throw new StartError(2, `CLOUD_CA_FILE: there is no certificate in ${caFile}`)
    return { ...settings, caPem }
  } catch (cause) {
    throw cause instanceof StartError
      ? cause
      : new StartError(2, `CLOUD_CA_FILE: cannot read ${caFile}: ${systemCode(cause)}`, { cause })
  }
}
