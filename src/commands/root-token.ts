import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { sealSource } from '../config/seal-source.ts'
import type { Config } from '../config/settings.ts'
import { type Barrier, isEmpty } from '../core/barrier/barrier.ts'
import { readSealConfig } from '../core/barrier/seal-config.ts'
import { corePrefix, type View } from '../core/barrier/view.ts'
import type { Mount } from '../core/mounts/mount.ts'
import { fixedPaths } from '../core/mounts/mount-path.ts'
import { mountRecords, readMount } from '../core/mounts/mount-record.ts'
import { ownKey } from '../core/seal/own-key.ts'
import { createFurtherRootToken } from '../core/tokens/store/root-token.ts'
import {
  placeRequest,
  takeAnswer,
  unsafeFolder,
  withdrawRequest,
} from '../core/tokens/store/root-token-request.ts'
import { TokenStore } from '../core/tokens/store/token-store.ts'
import { StartError } from '../errors.ts'
import { systemClock } from '../lib/system/clock.ts'
import { systemRandom } from '../lib/system/random.ts'
import { realPathOf } from '../lib/system/real-path.ts'
import type { Storage } from '../storage/storage.ts'
import { type Command, CommandError, parsedArguments } from './command.ts'
import { openDirectly, openWith } from './direct-store.ts'
import { checkOutput, outputToken } from './root-token-output.ts'
import { checkIsOther, type StoreSource, settingsOf, sourceOf } from './stored-database.ts'

const maxWaitMs = 15_000
const checkMs = 50

/**
 * `gatehouse root-token [--out FILE]` creates a new root token if the first one was lost, with the settings of
 * the server. A running server with a SQLite database makes it; otherwise the seal key opens the store. Existing tokens remain valid.
 * docs/operations.md#replace-a-lost-root-token
 */
export const rootToken: Command = async (args) => {
  const { out } = parsedArguments({ args, options: { out: { type: 'string' } } }).values
  const config = settingsOf(process.env)
  checkIsOther(config, out)
  const store = sourceOf(config, 'no root token to replace')
  const storage = await openUnlessHeld(config, store)
  if (storage !== undefined) await createStopped(config, storage, out)
  else if (typeof store.source === 'string') await askServer(store.source, out)
}

/** Undefined if a server holds the database. */
async function openUnlessHeld(config: Config, store: StoreSource): Promise<Storage | undefined> {
  try {
    return await openDirectly(config, store, 'root-token')
  } catch (error) {
    if (error instanceof StartError && error.exitCode === 3) return undefined
    throw error
  }
}

async function askServer(path: string, out: string | undefined): Promise<void> {
  const unsafe = await unsafeFolder(path)
  if (unsafe !== undefined)
    throw new CommandError(`a running server makes no root token, because ${unsafe}; stop it and try again`)
  const { uid } = statSync(`${realPathOf(path)}.lock`)
  if (process.geteuid?.() !== uid)
    throw new CommandError(`a running server makes no root token for another user: run this as user ${uid}`)
  checkOutput(out)
  const id = randomBytes(16).toString('hex')
  await placeRequest(path, id)
  try {
    outputToken(await answerTo(path, id), out)
  } finally {
    await withdrawRequest(path)
  }
}

async function answerTo(path: string, id: string): Promise<string> {
  for (let waited = 0; waited < maxWaitMs; waited += checkMs) {
    await pause(checkMs)
    const answer = await takeAnswer(path, id)
    if (answer === undefined) continue
    if ('token' in answer) return answer.token
    throw new CommandError(`the server made no root token: ${answer.error}`)
  }
  throw new CommandError('the server did not answer; its log may say why')
}

/** Opens the store, of which no other server has copies of what this writes, with the seal key. */
async function createStopped(config: Config, opened: Storage, out: string | undefined): Promise<void> {
  await using storage = opened
  const sealer = await openSealed(config, storage)
  const root = sealer.view('')
  const view = root.view(corePrefix)
  const parts = { view, clock: systemClock, random: systemRandom, sealer, mountOf: () => undefined }
  const tokens = await TokenStore.open(parts)
  const tokenMount = await tokenMountOf(root)
  const noteAt = systemClock.now()
  // before it becomes valid, so that every valid token has been delivered
  await createFurtherRootToken({ tokens, view, tokenMount }, (token) => outputToken(token, out), { noteAt })
}

async function openSealed(config: Config, storage: Storage): Promise<Barrier> {
  if (await isEmpty(storage))
    throw new CommandError('the store is empty: the first start of the server creates its root token')
  const seal = await readSealConfig(storage)
  if (seal.type === 'shamir')
    throw new CommandError(
      'shares open this store: start and unseal the server, then run this again, or use sys/generate-root',
    )
  return await openWith(await ownKey(seal, sealSource(config)), storage)
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
