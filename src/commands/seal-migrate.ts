import type { Buffer } from 'node:buffer'
import { text } from 'node:stream/consumers'
import { sealSource } from '../config/seal-source.ts'
import type { Config } from '../config/settings.ts'
import { isEmpty } from '../core/barrier/barrier.ts'
import { newKey } from '../core/barrier/root-key.ts'
import { loadSealKey } from '../core/barrier/seal.ts'
import {
  readSealConfig,
  type SealConfig,
  sealConfigRecord,
  sealConfigRevision,
} from '../core/barrier/seal-config.ts'
import { withoutHeldKeys } from '../core/seal/held-key.ts'
import { issueShares, readKeyPlan } from '../core/seal/key-plan.ts'
import { ownKey } from '../core/seal/own-key.ts'
import { combineShares, readShare } from '../core/seal/shares.ts'
import { makeWrappedKey } from '../core/seal/wrapped-key.ts'
import { ServiceError } from '../errors.ts'
import { systemClock } from '../lib/system/clock.ts'
import { writePrivateFile } from '../lib/system/private-file.ts'
import { systemRandom } from '../lib/system/random.ts'
import type { Storage } from '../storage/storage.ts'
import { type Command, CommandError, orFail, parsedArguments, UsageError } from './command.ts'
import { openDirectly, openWith } from './direct-store.ts'
import { checkOutput } from './root-token-output.ts'
import { checkIsOther, settingsOf, sourceOf } from './stored-database.ts'

type Target = 'static' | 'command' | 'shamir'
type Shares = { readonly shares: number; readonly threshold: number; readonly out: string }
export type Migration = { readonly to: Target; readonly held?: Shares | undefined }

/**
 * `gatehouse seal-migrate --to TYPE` replaces the seal of a store by one of another type, with the settings of both.
 * Shares of a present Shamir seal come on standard input. docs/operations.md#change-the-type-of-seal
 */
export const sealMigrate: Command = async (args) => {
  const config = settingsOf(process.env)
  const migration = await readMigration(args, config)
  const store = sourceOf(config, 'no seal to change')
  await using storage = await openDirectly(config, store, 'seal-migrate')
  process.stdout.write(`${await migrateSeal(config, storage, migration)}\n`)
}

async function readMigration(args: string[], config: Config): Promise<Migration> {
  const option = { type: 'string' } as const
  const { to, shares, threshold, out } = parsedArguments({
    args,
    options: { to: option, shares: option, threshold: option, out: option },
  }).values
  if (to === 'shamir') {
    if (out === undefined || shares === undefined || threshold === undefined) throw new UsageError()
    checkIsOther(config, out)
    const held = { shares: Number(shares), threshold: Number(threshold), out }
    await orUsage(() => planOf(held))
    return { to, held }
  }
  if ((to !== 'static' && to !== 'command') || [shares, threshold, out].some((one) => one !== undefined))
    throw new UsageError()
  return { to }
}

const planOf = ({ shares, threshold }: Shares) =>
  readKeyPlan({ shares, threshold, pgpKeys: [] }, '', systemClock.now())

/**
 * One write replaces key and seal. The new key is safe before it: in its file, wrapped, or in the file of its shares.
 * Returns a text for the operator.
 */
export async function migrateSeal(config: Config, storage: Storage, migration: Migration): Promise<string> {
  if (await isEmpty(storage))
    throw new CommandError('the store is empty: set GATEHOUSE_SEAL before the first start')
  const expect = await sealConfigRevision(storage)
  const present = await readSealConfig(storage)
  if (present.type === migration.to && present.type !== 'command')
    throw new CommandError(`the seal of this store is ${present.type} already`)
  const presentKey =
    present.type === 'shamir'
      ? await keyOfShares(present.threshold)
      : await ownKey(present, sealSource(config))
  const barrier = await openWith(presentKey, storage)
  try {
    const made = await makeSeal(config, migration)
    const recovery = present.type === 'shamir' ? undefined : present.recovery
    const seal: SealConfig = made.seal.type === 'shamir' ? made.seal : { ...made.seal, recovery }
    const isWritten = await barrier
      .sealing(withoutHeldKeys(seal), (removed) =>
        barrier.rekey(made.key, [{ ...sealConfigRecord(seal), expect }, ...removed]),
      )
      .finally(() => made.key.fill(0))
    if (!isWritten)
      throw new CommandError('the keys of this store were changed meanwhile: nothing was changed')
    return `the seal is ${seal.type} now (${made.where}): start servers with GATEHOUSE_SEAL=${seal.type}; backups from before need the former seal`
  } finally {
    await barrier.finish()
  }
}

type MadeSeal = { readonly key: Buffer; readonly seal: SealConfig; readonly where: string }

async function makeSeal(config: Config, { to, held }: Migration): Promise<MadeSeal> {
  const source = sealSource(config)
  if (to === 'static') {
    const { key } = await loadSealKey({ ...source, mayCreate: true })
    const where = source.text === undefined ? source.file : 'GATEHOUSE_SEAL_KEY'
    return { key, seal: { type: 'static' }, where: `key: ${where}` }
  }
  if (to === 'command') {
    if (source.commands === undefined)
      throw new UsageError('GATEHOUSE_SEAL_UNWRAP_COMMAND: must be set to migrate to a command')
    const { key, wrapped } = await makeWrappedKey(source.commands, systemRandom)
    return { key, seal: { type: 'command', wrapped }, where: 'the wrapped key is in the store' }
  }
  if (held === undefined) throw new UsageError()
  const { shares, threshold, out } = held
  checkOutput(out)
  const key = newKey(systemRandom)
  const { keys, keysBase64: keys_base64 } = await issueShares(key, await planOf(held))
  const told = `${JSON.stringify({ keys, keys_base64, threshold })}\n`
  orFail(`cannot write ${out}`, () => writePrivateFile(out, told))
  return { key, seal: { type: 'shamir', shares, threshold }, where: `shares: ${out}` }
}

async function keyOfShares(threshold: number): Promise<Buffer> {
  process.stderr.write(`${threshold} shares are needed, one a line on standard input\n`)
  const lines = (await text(process.stdin)).split(/\s+/).filter((line) => line !== '')
  if (lines.length < threshold) throw new CommandError(`${lines.length} of ${threshold} shares were given`)
  const shares = await orUsage(() => lines.slice(0, threshold).map((line) => readShare(line)))
  try {
    const key = await combineShares(shares)
    if (key === undefined) throw new CommandError('the shares are not those of one key')
    return key
  } finally {
    for (const share of shares) share.fill(0)
  }
}

async function orUsage<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof ServiceError ? new UsageError(cause.message, { cause }) : cause
  }
}
