import { accessSync } from 'node:fs'
import { postgresConnection } from '../config/connections.ts'
import { StartError } from '../errors.ts'
import { postgresName } from '../lib/net/postgres-url.ts'
import { openSqliteEnd } from '../storage/copies/sqlite-copy-end.ts'
import { verifyDatabase } from '../storage/copies/verify.ts'
import { openPostgresEnd } from '../storage/postgres/copy-end.ts'
import { PostgresReading } from '../storage/postgres/reading.ts'
import type { RecordSum } from '../storage/record-digest.ts'
import { type CopyEnd, copyStore } from '../storage/store-copy.ts'
import { type Command, commandFailure, orFail, parsedArguments, UsageError } from './command.ts'
import { settingsOf } from './stored-database.ts'

/**
 * `gatehouse storage-copy FROM TO [--resume] [--verify-only]` moves all records from one storage to another,
 * both as in `GATEHOUSE_STORAGE`. docs/operations.md#move-between-sqlite-and-postgresql
 */
export const storageCopy: Command = async (args) => {
  const { from, to, resume, verifyOnly } = readArguments(args)
  const [source, target] = [placeOf(from), placeOf(to)]
  mustExist(source)
  try {
    if (verifyOnly) return await compare(source, target)
    await using opened = await source.open()
    await using other = await target.open()
    const { records, digest } = await copyStore(opened, other, { resume })
    process.stdout.write(
      `Copied ${records} records, digest ${digest}, from ${source.name} to ${target.name}\n`,
    )
  } catch (cause) {
    throw commandFailure(`cannot copy ${source.name} to ${target.name}`, cause)
  }
}

type Place = {
  readonly name: string
  /** Of a SQLite database. */
  readonly path: string | undefined
  open(): Promise<CopyEnd>
  sum(): Promise<RecordSum>
}

/** A storage with the settings of the server, such as its password. */
function placeOf(storage: string): Place {
  // processes that share a listener are a matter of the server
  const config = settingsOf({ ...process.env, GATEHOUSE_STORAGE: storage, GATEHOUSE_WORKERS: '1' })
  const connection = postgresConnection(config)
  if (connection !== undefined) {
    const name = postgresName(connection.address)
    return {
      name,
      path: undefined,
      open: () => openPostgresEnd(connection, name),
      sum: async () => {
        await using reading = await PostgresReading.open(connection)
        return await reading.sum()
      },
    }
  }
  if (config.storage.kind !== 'sqlite') throw new UsageError(`${storage} has nothing to copy`)
  const { path } = config.storage
  return { name: path, path, open: () => openSqliteEnd(path), sum: async () => verifyDatabase(path) }
}

function mustExist({ name, path }: Place): void {
  if (path !== undefined) orFail(`cannot open ${name}`, () => accessSync(path))
}

async function compare(source: Place, target: Place): Promise<void> {
  mustExist(target)
  const [one, other] = [await source.sum(), await target.sum()]
  const isSame = one.records === other.records && one.digest === other.digest
  for (const [{ name }, { records, digest }] of [
    [source, one],
    [target, other],
  ] as const)
    process.stdout.write(`${name}: ${records} records, digest ${digest}\n`)
  if (!isSame) throw new StartError(1, 'the records differ')
}

function readArguments(args: string[]) {
  const isSet = { type: 'boolean', default: false } as const
  const options = { resume: isSet, 'verify-only': isSet }
  const { values, positionals } = parsedArguments({ args, options, allowPositionals: true })
  const [from, to, ...more] = positionals
  if (from === undefined || to === undefined || more.length > 0) throw new UsageError()
  return { from, to, resume: values.resume, verifyOnly: values['verify-only'] }
}
