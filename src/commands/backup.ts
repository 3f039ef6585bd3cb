import { readSealConfig } from '../core/barrier/seal-config.ts'
import { backUp } from '../storage/copies/backup.ts'
import { noteBackup } from '../storage/copies/last-backup.ts'
import { gatehouseVersion } from '../version.ts'
import { type Command, commandFailure, UsageError } from './command.ts'
import { checkIsOther, clusterIdOf, openForReading, settingsOf, sourceOf } from './stored-database.ts'

/**
 * `gatehouse backup FILE` writes a backup of the database that the settings name, whether servers run or not. docs/operations.md#backup-and-restore
 */
export const backup: Command = async (args) => {
  const [file, ...more] = args
  if (file === undefined || file.startsWith('-') || more.length > 0) throw new UsageError()
  const config = settingsOf(process.env)
  for (const written of [file, `${file}.part`]) checkIsOther(config, written)
  const { source, name } = sourceOf(config, 'nothing to back up')
  try {
    await using reader = await openForReading(source)
    const { type: seal_type } = await readSealConfig({ get: async (key) => reader.get(key) })
    const given = {
      product_version: gatehouseVersion,
      cluster_id: await clusterIdOf(config, reader.get),
      created_time: new Date().toISOString(),
      seal_type,
    }
    const { records, digest } = await backUp(file, { source, given, signal: stopped() })
    if (typeof source === 'string') noteBackup(source)
    process.stdout.write(`Backup written to ${file}: ${records} records, digest ${digest}\n`)
  } catch (cause) {
    throw commandFailure(`cannot back up ${name} to ${file}`, cause)
  }
}

/** Aborts when the process is asked to stop, so that no incomplete file is left. */
function stopped(): AbortSignal {
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stopping.abort())
  return stopping.signal
}
