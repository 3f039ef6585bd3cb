import { parseArgs } from 'node:util'
import { type Config, isStoreFile } from '../config.ts'
import { type Barrier, isEmpty, openBarrier } from '../core/barrier/barrier.ts'
import { loadSealKey } from '../core/barrier/seal.ts'
import { corePrefix, type View } from '../core/barrier/view.ts'
import type { Mount } from '../core/mounts/mount.ts'
import { mountRecords, readMount } from '../core/mounts/mount-record.ts'
import { createFurtherRootToken } from '../core/tokens/root-token.ts'
import { TokenStore } from '../core/tokens/token-store.ts'
import { systemClock } from '../lib/clock.ts'
import { systemCode, writePrivateFile } from '../lib/private-file.ts'
import { systemRandom } from '../lib/random.ts'
import { openSqlite } from '../storage/sqlite.ts'
import type { Storage } from '../storage/storage.ts'
import { CommandError, runCommand, UsageError } from './command.ts'
import { fixedPaths } from '../core/mounts/mount-path.ts'
import { databaseOf, settingsOf } from './stored-database.ts'

/**
 * `npm run root-token -- [--out FILE]` creates a new root token if the first one was lost. It uses the
 * settings of the server, which must be stopped. Existing tokens remain valid. The next start logs that the
 * token was created. docs/storage.md#seal-key, docs/operations.md#commands
 */
await runCommand(async () => {
  const { out } = readArguments(process.argv.slice(2))
  const config = settingsOf(process.env)
  if (out !== undefined && isStoreFile(config, out))
    throw new UsageError(`${out} is a database file or a seal key file`)
  await using storage = await openStore(config)
  const sealer = await openSealed(config, storage)
  const root = sealer.view('')
  const parts = {
    view: root.view(corePrefix),
    clock: systemClock,
    random: systemRandom,
    sealer,
    mountOf: () => undefined,
  }
  const tokens = await TokenStore.open(parts)
  await createFurtherRootToken(
    { tokens, view: parts.view, tokenMount: await tokenMountOf(root) },
    systemClock.now(),
    (token) => output(token, out),
  )
})

function readArguments(args: string[]): { out?: string | undefined } {
  try {
    return parseArgs({ args, options: { out: { type: 'string' } } }).values
  } catch (cause) {
    throw new UsageError('usage: npm run root-token -- [--out FILE]', { cause })
  }
}

/** Opens the server's storage; never creates one. */
function openStore(config: Config): Promise<Storage & AsyncDisposable> {
  const path = databaseOf(config, 'no root token to replace')
  return openSqlite({ path, allowNetworkDisk: config.allowNetworkDisk })
}

async function openSealed(config: Config, storage: Storage): Promise<Barrier> {
  if (await isEmpty(storage))
    throw new CommandError('the store is empty: the first start of the server creates its root token')
  const { key } = await loadSealKey({
    text: config.sealKey,
    file: config.sealKeyFile,
    allowOpen: config.allowOpenKeyFile,
    storeIsEmpty: false,
  })
  const log = {
    error: ({ key: record }: { key: string }, text: string) =>
      void process.stderr.write(`${text}: ${record}\n`),
  }
  const barrier = openBarrier({ storage, sealKey: key, clock: systemClock, random: systemRandom, log })
  return barrier.finally(() => key.fill(0))
}

async function tokenMountOf(root: View): Promise<Mount> {
  const mounts = (await root.view(mountRecords, { numbers: 'plain' }).list('')).map((record) =>
    // whether a server offers the types of the other mounts does not matter here
    readMount(record, (_, type) => type),
  )
  const found = mounts.find(({ namespace, path }) => namespace === 'root' && path === fixedPaths.token)
  if (found === undefined) throw new CommandError('the mount table has no auth/token/')
  return found
}

/** Prints or writes the token before it becomes valid, so that every valid token has been delivered. */
function output(token: string, out: string | undefined): void {
  if (out === undefined) {
    process.stdout.write(`Root token: ${token}\n`)
    return
  }
  try {
    writePrivateFile(out, `${token}\n`)
  } catch (cause) {
    throw new CommandError(`cannot write ${out}: ${systemCode(cause)}`, { cause })
  }
  process.stdout.write(`Root token written to ${out}\n`)
}
