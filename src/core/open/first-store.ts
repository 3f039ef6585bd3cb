import { ServiceError, StartError } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { Storage } from '../../storage/storage.ts'
import { type Barrier, openBarrier } from '../barrier/barrier.ts'
import { type SealConfig, sealConfigRecord } from '../barrier/seal-config.ts'
import { corePrefix } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import { type DefaultMount, firstMounts } from '../mounts/first-mounts.ts'
import type { Mount } from '../mounts/mount.ts'
import type { SystemTtls } from '../mounts/mount-config.ts'
import { fixedPaths } from '../mounts/mount-path.ts'
import { entriesFor } from '../mounts/mount-record.ts'
import type { MountTypeRegistry } from '../mounts/mount-type-registry.ts'
import { PolicyStore } from '../policies/policy-store.ts'
import { recoveryKeyEntry } from '../seal/held-key.ts'
import { alreadyInitialized } from '../seal/init-request.ts'
import { createInitialRootToken, type RootTokenTeller } from '../tokens/store/root-token.ts'
import { TokenStore } from '../tokens/store/token-store.ts'

export type StoreSettings = {
  readonly sealKey: Uint8Array
  readonly previousSealKey?: Uint8Array
  readonly systemTtl: SystemTtls
  /** Mounts of a new store in addition to the fixed ones. */
  readonly defaultMounts: readonly DefaultMount[]
  /** Root token of a development server, stored at each start; a new store gets no other one. */
  readonly devRootToken?: string | undefined
  /** How a new store is sealed; by default, with a static seal without recovery keys. */
  readonly seal?: NewSeal | undefined
}

export type NewSeal = {
  readonly config: SealConfig
  readonly recoveryKey?: Uint8Array
  /** Whether a client initializes the store: it gets the root token. */
  readonly isTold: boolean
}

export type StoreParts = {
  readonly storage: Storage
  /** An empty storage for creating the first records; required only if `storage` is empty. */
  readonly staging?: Storage | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: CoreLog
  readonly mountTypes: MountTypeRegistry
  readonly rootToken: RootTokenTeller
  /** Called for each record that cannot be decrypted. */
  onUnreadable?(): void
  /** Called when another server has replaced keys, and this one cannot find the new ones. */
  keysLost?(): void
}

/** Opens the store with the seal key. Writes the mounts, policies, keys and root token of a new one. */
export async function openStore(settings: StoreSettings, parts: StoreParts): Promise<Barrier> {
  const { storage, staging, clock, random, log } = parts
  const { sealKey, previousSealKey } = settings
  const barrier = await openBarrier({
    storage,
    clock,
    random,
    sealKey,
    ...(previousSealKey === undefined ? {} : { previousSealKey }),
    sealKeyChanged: () =>
      log.info(
        { event: 'key_rotated' },
        'the seal key was changed: the previous key no longer opens this store',
      ),
    newTerm: (term) =>
      log.info({ event: 'key_rotated', term }, 'new records are encrypted with a new data key'),
    keysLost: () => parts.keysLost?.(),
    log: { error: (fields, text) => log.error(fields, text), recordUnreadable: () => parts.onUnreadable?.() },
    first: staging && {
      staging,
      plain: settings.seal === undefined ? [] : [sealConfigRecord(settings.seal.config)],
      fill: async (fresh) => {
        const rootToken = await fill(fresh, settings, parts)
        if (rootToken !== undefined) parts.rootToken.keep(rootToken)
      },
    },
  })
  if (barrier.initialized) log.info({ event: 'initialized' }, 'a new store was initialized')
  return barrier
}

/** Creates an empty store, which stays sealed, and returns its root token. */
export async function createStore(settings: StoreSettings, parts: StoreParts): Promise<string> {
  let rootToken = ''
  const keep = (id: string) => {
    rootToken = id
  }
  const barrier = await openStore(settings, { ...parts, rootToken: { ...parts.rootToken, keep } }).catch(
    (cause: unknown) => {
      // the keys are new: another server has created the store with its own
      throw cause instanceof StartError && cause.exitCode === 5 ? alreadyInitialized() : cause
    },
  )
  await barrier.finish()
  if (!barrier.initialized) throw alreadyInitialized()
  return rootToken
}

/** Returns the id of the root token; undefined for a development server, which stores its own at each start. */
async function fill(
  barrier: Barrier,
  { devRootToken, seal, ...settings }: StoreSettings,
  parts: StoreParts,
): Promise<string | undefined> {
  const { clock, random } = parts
  const root = barrier.view('')
  const mounts = mountsOf(settings, parts)
  await root.write(entriesFor(mounts))
  await PolicyStore.open({ view: root.view('policy/'), clock })
  await root.write([{ key: 'cluster-id', value: random.uuid() }])
  if (seal?.recoveryKey !== undefined) await root.write([recoveryKeyEntry(seal.recoveryKey)])
  if (devRootToken !== undefined) return undefined
  const view = root.view(corePrefix)
  const tokens = await TokenStore.open({ view, clock, random, sealer: barrier, mountOf: () => undefined })
  const tokenMount = mounts.find((mount) => mount.path === fixedPaths.token)
  if (tokenMount === undefined) throw new Error('the fixed mounts have no token mount')
  return createInitialRootToken({ tokens, view, tokenMount }, { isTold: seal?.isTold === true })
}

function mountsOf(
  { defaultMounts, systemTtl }: Pick<StoreSettings, 'defaultMounts' | 'systemTtl'>,
  { random, mountTypes }: StoreParts,
): Mount[] {
  try {
    return firstMounts({ random, system: systemTtl, types: mountTypes, defaults: defaultMounts })
  } catch (error) {
    if (error instanceof ServiceError) throw new StartError(2, `GATEHOUSE_DEFAULT_MOUNTS: ${error.message}`)
    throw error
  }
}
