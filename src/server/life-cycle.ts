import type { IncomingMessage, RequestListener } from 'node:http'
import { isEmpty } from '../core/barrier/barrier.ts'
import { rootKeyKey } from '../core/barrier/root-key.ts'
import {
  raiseSealEpoch,
  readSealConfig,
  readSealEpoch,
  type SealConfig,
  sealConfigKey,
  sealEpochKey,
} from '../core/barrier/seal-config.ts'
import { firstStart, onOneServer } from '../core/jobs/on-one-server.ts'
import type { NewSeal } from '../core/open/first-store.ts'
import { alreadyInitialized } from '../core/seal/init-request.ts'
import { ShareProgress } from '../core/seal/share-progress.ts'
import { currentOf, type PageSettings } from '../core/settings/page-settings.ts'
import { refuse, ServiceError, StartError } from '../errors.ts'
import { needsNoStorage } from '../http/exchange/mount-router.ts'
import type { Http } from '../http/http.ts'
import { KeyedMutex } from '../lib/concurrency/keyed-mutex.ts'
import type { Clock } from '../lib/system/clock.ts'
import type { Random } from '../lib/system/random.ts'
import type { Log } from '../log/log.ts'
import type { HeldKeys, LifeCycle as SysLifeCycle } from '../plugins/sys/plugin.ts'
import { keep, type Storage } from '../storage/storage.ts'
import type { OpenServer } from './open-server.ts'
import type { OwnKeys, UnsealKeys } from './server-core.ts'

export type LifeCycleParts = {
  readonly storage: Storage
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly seal: SealConfig | undefined
  openClosed(life: LifeCycle): Promise<Http>
  /** The key of a server that unseals itself, and the seal of a new store. Throws a StartError. */
  ownKeys(): Promise<OwnKeys>
  /** Called before a start that creates the store. Throws a StartError if the root token cannot be delivered. */
  checkDelivery(): void
  /** Opens the store, and creates an empty one. Throws a StartError: 5 for a wrong key. */
  open(life: LifeCycle, keys: UnsealKeys): Promise<OpenServer>
  create(seal: NewSeal, key: Uint8Array): Promise<string>
  onOpened?: (() => void) | undefined
}

/**
 * The states of a server: not initialized, sealed, open. Sealing discards all that an open server holds, and
 * unsealing opens the store like a start does. docs/contract/seal.md#states
 * Servers that share the storage are initialized and sealed together, and each is unsealed by itself:
 * docs/replicas.md#sealing
 */
export class LifeCycle implements SysLifeCycle, AsyncDisposable {
  readonly #parts: LifeCycleParts
  readonly #changes = new KeyedMutex()
  readonly #closing = new Set<Promise<void>>()
  /** Of the unseal key. */
  readonly #shares: ShareProgress
  #seal: SealConfig | undefined
  #closed: Http | undefined
  #open: OpenServer | undefined
  #lastPageSettings: PageSettings | undefined
  #isStopping = false
  /** The seal epoch that this server was unsealed under, and the latest one. */
  #openEpoch = 0
  #lastEpoch = 0
  readonly #unwatch: (() => void) | undefined

  constructor(parts: LifeCycleParts) {
    this.#parts = parts
    this.#seal = parts.seal
    this.#shares = new ShareProgress(parts)
    this.#unwatch = parts.storage.shared?.watch('barrier/', (keys) => this.#follow(keys))
  }

  /** Prepares what a sealed server serves. Must be called before a start that does not open the store. */
  async prepareSealed(): Promise<void> {
    this.#closed ??= await this.#parts.openClosed(this)
    // another server may have initialized the store since it was found empty
    if (this.#seal === undefined && this.#parts.storage.shared !== undefined) await this.#followSeal()
  }

  get seal(): SealConfig | undefined {
    return this.#seal
  }

  /** Also those from before the server was sealed: they are no secret. */
  get pageSettings(): PageSettings | undefined {
    return this.#open === undefined ? this.#lastPageSettings : currentOf(this.#open.core)
  }

  get core(): OpenServer['core'] | undefined {
    return this.#open?.core
  }

  /**
   * Serves a request in the present state. If other servers write the storage too, a request waits until what
   * this one has copied is current. docs/replicas.md#copies
   */
  readonly receive: RequestListener = (request, response) => {
    const copies = this.#parts.storage.shared?.copies
    if (copies === undefined || needsNoStorage(request.url)) return this.#serving.receive(request, response)
    request.checkCopies = this.#checkCopies
    if (copies.areCurrent()) this.#serving.receive(request, response)
    else void this.#checkCopies(request).then(() => this.#serving.receive(request, response))
  }

  readonly #checkCopies = async (request: IncomingMessage): Promise<void> => {
    const copies = this.#parts.storage.shared?.copies
    if (copies?.areCurrent() !== false) return
    await copies.confirm().catch(() => {
      request.hasOldCopies = true
    })
  }

  get inFlight(): number {
    return this.#serving.inFlight
  }

  get #serving(): Http {
    const http = this.#open?.http ?? this.#closed
    if (http === undefined) throw new Error('the server has not started')
    return http
  }

  /** Opens a store with the server's own key, and creates an empty one. Throws a StartError. */
  async openByItself(): Promise<void> {
    const { storage, checkDelivery } = this.#parts
    const first = { name: firstStart, isNeeded: () => isEmpty(storage) }
    await onOneServer(storage, first, async () => {
      checkDelivery()
      await this.#openWithOwnKey()
    })
    // another server may have created the store
    await this.#openWithOwnKey()
    this.#seal ??= await readSealConfig(storage)
  }

  async #openWithOwnKey(): Promise<void> {
    if (this.#open !== undefined) return
    const keys = await this.#parts.ownKeys()
    await this.#change(() => this.#openWith(keys)).finally(() => erase(keys))
  }

  initialize({ unseal, recovery }: HeldKeys): Promise<string> {
    return this.#change(async () => {
      if (this.#seal !== undefined) throw alreadyInitialized()
      if (unseal !== undefined)
        return await this.#create({ config: { type: 'shamir', ...unseal.counts }, isTold: true }, unseal.key)
      const keys = await this.#parts.ownKeys()
      try {
        const config = { ...(keys.seal ?? { type: 'static' }), recovery: recovery?.counts }
        const held = recovery && { recoveryKey: recovery.key }
        const rootToken = await this.#create({ config, ...held, isTold: true }, keys.key)
        // the caller has the only copy of the token and of the recovery key
        await this.#openWith(keys).catch((err: unknown) =>
          this.#parts.log.error(
            { event: 'unseal_failed', err },
            'the new store cannot be opened: it stays sealed',
          ),
        )
        this.#parts.onOpened?.()
        return rootToken
      } finally {
        erase(keys)
      }
    })
  }

  get unsealProgress(): { progress: number; nonce: string } {
    return { progress: this.#shares.count, nonce: this.#shares.nonce }
  }

  async unseal(share: Buffer): Promise<void> {
    if (this.#open !== undefined) return void share.fill(0)
    if (this.#shares.nonce === '') this.#shares.begin()
    this.#shares.add(share)
    if (this.#shares.count < (this.#seal?.type === 'shamir' ? this.#seal.threshold : 1)) return
    const key = await this.#shares.combine()
    this.#shares.discard()
    if (key === undefined) throw wrongKey('the shares are not those of one key')
    try {
      await this.#openWithKey(key)
      this.#parts.onOpened?.()
    } finally {
      key.fill(0)
    }
  }

  resetUnseal(): void {
    this.#shares.discard()
  }

  async #openWithKey(key: Buffer): Promise<void> {
    try {
      await this.#change(() => this.#openWith({ key }))
    } catch (cause) {
      if (!(cause instanceof StartError)) throw cause
      const failure = storageFailureIn(cause)
      if (failure !== undefined) throw failure
      if (cause.exitCode === 5) throw wrongKey('it does not open this store')
      throw new Error('the store cannot be unsealed', { cause })
    }
  }

  /**
   * Seals this server and those that share its storage. No effect on a sealed server. Rejects with `unavailable`
   * if only this one could be sealed.
   */
  async close(): Promise<void> {
    if (this.#open === undefined) return
    const { storage } = this.#parts
    // a storage that fails must not delay the sealing of this server
    const [others, own] = await Promise.allSettled([
      storage.shared && raiseSealEpoch(storage),
      this.#change(() => this.#closeOpen()),
    ])
    if (own.status === 'rejected') throw own.reason
    if (others.status === 'rejected') throw others.reason
  }

  /** Discards the keys; what was open closes in the background. */
  async #closeOpen(): Promise<void> {
    const open = this.#open
    if (open === undefined) return
    await this.prepareSealed()
    this.#lastPageSettings = currentOf(open.core)
    this.#open = undefined
    await open.core.seal()
    this.#parts.log.warn({ event: 'sealed' }, 'sealed: no data can be read until the server is unsealed')
    const closing = closeInOrder(open)
      .catch((err: unknown) =>
        this.#parts.log.error({ event: 'work_failed', err }, 'could not close a sealed store in order'),
      )
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  /**
   * Another server has replaced the keys while this one could not follow, or another store is in place of this one. With a
   * seal that it opens by itself, it opens the store as a start does; else it stays sealed.
   */
  keysLost(): void {
    this.#change(() => this.#closeOpen())
      // what is stored counts: the change of the seal may not have arrived yet
      .then(() => this.#followSeal())
      .then(() => (isOwn(this.#seal) ? this.openByItself() : undefined))
      .catch((err: unknown) =>
        this.#parts.log.error({ event: 'unseal_failed', err }, 'could not open the store again'),
      )
  }

  async #follow(keys: readonly string[] | undefined): Promise<void> {
    const isAbout = (...some: string[]) => keys === undefined || keys.some((key) => some.includes(key))
    if (isAbout(rootKeyKey, sealConfigKey)) await this.#followSeal()
    if (isAbout(sealEpochKey)) await this.#followEpoch()
  }

  async #followSeal(): Promise<void> {
    const { storage, log } = this.#parts
    if ((await storage.get(rootKeyKey)) === undefined) return
    const wasInitialized = this.#seal !== undefined
    try {
      this.#seal = await readSealConfig(storage)
    } catch (err) {
      if (!(err instanceof StartError)) throw err
      log.error({ event: 'record_unreadable', err }, 'cannot read how the store is sealed')
    }
    // a start in progress opens the store itself
    if (wasInitialized || this.#closed === undefined || !isOwn(this.#seal)) return
    this.openByItself().catch((err: unknown) =>
      log.error(
        { event: 'unseal_failed', err },
        'the store that another server has initialized cannot be opened: it stays sealed',
      ),
    )
  }

  async #followEpoch(): Promise<void> {
    this.#lastEpoch = await readSealEpoch(this.#parts.storage)
    // while the store is being opened, the epoch is compared afterwards
    if (this.#open !== undefined && this.#lastEpoch > this.#openEpoch)
      await this.#change(() => this.#closeOpen())
  }

  /** From now on each response closes its connection, and the state stays as it is. */
  endConnections(): void {
    this.#isStopping = true
    this.#serving.endConnections()
  }

  /** Ends requests that wait. Must be called before disposing. */
  async endRequests(): Promise<void> {
    this.endConnections()
    await this.#changes.pending(oneAtATime)
    await this.#serving[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch?.()
    this.#shares[Symbol.dispose]()
    await Promise.all(this.#closing)
    await this.#open?.[Symbol.asyncDispose]()
  }

  async #create(seal: NewSeal, key: Uint8Array): Promise<string> {
    const rootToken = await this.#parts.create(seal, key).catch((cause: unknown) => {
      throw storageFailureIn(cause) ?? cause
    })
    this.#seal = seal.config
    return rootToken
  }

  async #openWith(keys: UnsealKeys): Promise<void> {
    if (this.#open !== undefined) return
    const { storage, open, log } = this.#parts
    // what is still closing uses the same clock and the same folder
    await Promise.all(this.#closing)
    // what was written before the server was sealed must be there when the store is read
    await storage.update(rootKeyKey, () => keep)
    if (storage.shared !== undefined) this.#lastEpoch = await readSealEpoch(storage)
    this.#openEpoch = this.#lastEpoch
    this.#open = await open(this, keys)
    this.#open.core.ceremonies.onSealChanged((seal) => {
      this.#seal = seal
    })
    // more than the threshold may have been sent
    this.#shares.discard()
    log.info({ event: 'unsealed' }, 'the store is unsealed')
    // servers were sealed meanwhile
    if (this.#lastEpoch > this.#openEpoch) await this.#closeOpen()
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    return this.#changes.runExclusive(oneAtATime, () => {
      if (this.#isStopping) throw refuse('unavailable', 'server is stopping')
      return work()
    })
  }
}

function erase({ key, previous }: UnsealKeys): void {
  key.fill(0)
  previous?.fill(0)
}

async function closeInOrder(open: OpenServer): Promise<void> {
  await open.http[Symbol.asyncDispose]()
  await open[Symbol.asyncDispose]()
}

/** The storage failure behind an error, if it is one: the next attempt may succeed. */
const storageFailureIn = (error: unknown): ServiceError | undefined =>
  error instanceof StartError && error.cause instanceof ServiceError && error.cause.kind === 'unavailable'
    ? error.cause
    : undefined

const isOwn = (seal: SealConfig | undefined): boolean => seal !== undefined && seal.type !== 'shamir'

const wrongKey = (reason: string) =>
  refuse('invalid', `unable to retrieve stored keys: invalid key: ${reason}`)

const oneAtATime = 'state'
