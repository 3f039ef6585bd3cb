import { StartError } from '../errors.ts'
import { openSqliteEnd } from '../storage/copies/sqlite-copy-end.ts'
import { verifyDatabase } from '../storage/copies/verify.ts'
import { openPostgresEnd } from '../storage/postgres/copy-end.ts'
import { PostgresReading } from '../storage/postgres/reading.ts'
import type { RecordSum } from '../storage/record-digest.ts'
import { type CopyEnd, copyStore } from '../storage/store-copy.ts'
import { type Command, commandFailure, parsedArguments, UsageError } from './command.ts'
import { mustExist, placeOf, type StoreSource, settingsOf } from './stored-database.ts'

/**
 * `gatehouse storage-copy FROM TO [--resume] [--verify-only]` moves all records from one storage to another,
 * both as in `GATEHOUSE_STORAGE`. docs/operations.md#move-between-sqlite-and-postgresql
 */
export const storageCopy: Command = async (args) => {
  const { from, to, resume, verifyOnly } = readArguments(args)
  const [source, target] = [placeIn(from), placeIn(to)]
  mustExist(source)
  try {
    if (verifyOnly) return await compare(source, target)
    await using opened = await endOf(source)
    await using other = await endOf(target)
    const { records, digest } = await copyStore(opened, other, { resume })
    process.stdout.write(
      `Copied ${records} records, digest ${digest}, from ${source.name} to ${target.name}\n`,
    )
  } catch (cause) {
    throw commandFailure(`cannot copy ${source.name} to ${target.name}`, cause)
  }
}

/** A storage with the settings of the server, such as its password. */
function placeIn(storage: string): StoreSource {
  // processes that share a listener are a matter of the server
  const place = placeOf(settingsOf({ ...process.env, GATEHOUSE_STORAGE: storage, GATEHOUSE_WORKERS: '1' }))
  if (place === undefined) throw new UsageError(`${storage} has nothing to copy`)
  return place
}

const endOf = ({ source, name }: StoreSource): Promise<CopyEnd> =>
  typeof source === 'string' ? openSqliteEnd(source) : openPostgresEnd(source, name)

async function sumOf({ source }: StoreSource): Promise<RecordSum> {
  if (typeof source === 'string') return verifyDatabase(source)
  await using reading = await PostgresReading.open(source)
  return await reading.sum()
}

async function compare(source: StoreSource, target: StoreSource): Promise<void> {
  mustExist(target)
  const [one, other] = [await sumOf(source), await sumOf(target)]
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
