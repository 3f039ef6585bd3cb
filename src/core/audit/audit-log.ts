import { resolve } from 'node:path'
import { z } from 'zod'
import { type fail, refuse, ServiceError, StartError } from '../../errors.ts'
import { textMap } from '../../lib/data/text-map.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View, ViewRecord } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import { FollowedRecords } from '../records/followed-records.ts'
import { GuardedChanges } from '../records/guarded-changes.ts'
import { recordReader } from '../records/stored-record.ts'
import { type AuditDevice, closedDevice } from './device.ts'
import { checkNewTarget, type DeviceLimits, sinkTarget } from './device-options.ts'
import { checkSizes, type DeviceDescription, entryOptions } from './device-rules.ts'
import { Entries } from './entry.ts'
import { realFile } from './file-sink.ts'
import { type Hashing, hashingWith, noSecrets } from './hashing.ts'
import type { SinkTarget } from './sink.ts'

export type AuditLogParts = {
  readonly view: View
  readonly shared: SharedStorage | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: CoreLog
  readonly version: string
  /** Devices of the settings: the API can only read them. */
  readonly fixed: readonly DeviceDescription[]
  readonly isOpenToApi: boolean
  readonly limits: DeviceLimits
  /** Never rejects: a device that fails is tried again. */
  open(device: Place): Promise<AuditDevice>
  /** Drops what is stored about the chains of a disabled device. */
  forget(path: string): Promise<void>
  /** Drops what this server has stored about its chain of a disabled device. */
  forgetOwn(path: string): Promise<void>
  /** Called for a record of another server that cannot be read. */
  onUnreadable(error: unknown): void
  readonly onWrite?: ((written: AuditedWrite) => void) | undefined
}

type Place = { readonly path: string; readonly target: SinkTarget }

/** An entry was written, or could not be. */
type AuditedWrite = { readonly device: string; readonly succeeded: boolean; readonly seconds: number }

type Enabled = {
  readonly description: DeviceDescription
  readonly target: SinkTarget
  readonly files: readonly string[]
  readonly isFixed: boolean
  readonly salt: string
  readonly hashing: Hashing
  readonly device: AuditDevice
}

type Wanted = { readonly description: DeviceDescription; readonly salt: string; readonly isFixed: boolean }

type DeviceRecord = Omit<DeviceDescription, 'path'> & { readonly salt: string }
/** Checks only what is used to open a device. */
const readRecord = recordReader<DeviceRecord>(
  'audit device',
  z.object({ salt: z.string(), type: z.string(), options: textMap }),
)

const devices = 'device/'
const salts = 'salt/'

const mostDevices = 32

/** No device could write an entry; `cause` has their errors. */
export const notAudited = (cause: unknown, form: typeof fail | typeof refuse = refuse) =>
  form('unrecorded', 'internal error', { cause })

/**
 * The audit log: its devices, and the rule that each entry must be written by at least one of them.
 * docs/contract/audit.md
 */
export class AuditLog implements AsyncDisposable {
  readonly #parts: AuditLogParts
  readonly #followed: FollowedRecords
  readonly #changes: GuardedChanges
  #enabled: readonly Enabled[] = []
  /** The salt of the device that is being enabled by this server. */
  #enabling: string | undefined
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  private constructor(parts: AuditLogParts) {
    const { view, shared, onUnreadable } = parts
    this.#parts = parts
    this.#followed = new FollowedRecords({
      view,
      prefix: devices,
      onFailure: onUnreadable,
      known: () => this.#enabled.map(({ description }) => devices + description.path),
      apply: (records, gone) => this.#follow(records, gone),
    })
    this.#changes = new GuardedChanges({ view, shared, key: 'guard/devices', followed: this.#followed })
  }

  /** Opens all devices. Throws a StartError if there are some and none can be opened. */
  static async open(parts: AuditLogParts): Promise<AuditLog> {
    const log = new AuditLog(parts)
    await log.#followed.follow(() => log.#openAll())
    return log
  }

  /** The key of the record of a device, from the root of the storage. */
  recordKey(path: string): string {
    return this.#parts.view.fromRoot({ key: devices + path, value: undefined }).key
  }

  /** Whether any device is enabled, also after the log was closed: then no entry can be written. */
  get isOn(): boolean {
    return this.#enabled.length > 0
  }

  /** Whether requests can be served: no device is enabled, or one of them can write. */
  get isUp(): boolean {
    return !this.isOn || this.#enabled.some(({ device }) => device.isUp)
  }

  get devices(): readonly { readonly description: DeviceDescription; readonly isUp: boolean }[] {
    return this.#enabled.map(({ description, device }) => ({ description, isUp: device.isUp }))
  }

  get version(): string {
    return this.#parts.version
  }

  /**
   * Writes an entry to all devices, and resolves once one of them has written it. Throws if none can, and
   * `sealed` once the log is closed.
   */
  async write(line: (hashing: Hashing, now: number) => Promise<string>): Promise<void> {
    const enabled = this.#enabled
    if (enabled.length === 0) return
    if (this.#isClosed) throw refuse('sealed', 'Vault is sealed')
    const now = this.#parts.clock.now()
    // a bug here is none of a device
    const lines = await Promise.all(enabled.map(({ hashing }) => line(hashing, now)))
    try {
      await Promise.any(enabled.map((one, at) => this.#writeTo(one, lines[at] ?? '')))
    } catch (cause) {
      throw notAudited(cause)
    }
  }

  /**
   * Enables a device after a test entry. Throws `invalid` for what the API may not enable, or if the test
   * entry cannot be written. docs/contract/audit.md#enabling-a-device
   */
  async enable(described: DeviceDescription): Promise<void> {
    this.#checkApi('enable')
    await this.#changes.run(async (write) => {
      this.#checkPath(described.path)
      checkSizes(described)
      const salt = this.#parts.random.uuid()
      const enabled = await this.#tried(described, salt)
      const { path, ...record } = described
      const stored: DeviceRecord = { ...record, salt }
      this.#enabling = salt
      try {
        await write([{ key: devices + path, value: stored }])
        this.#enabled = [...this.#enabled, enabled]
      } catch (error) {
        await enabled.device[Symbol.asyncDispose]()
        throw error
      } finally {
        this.#enabling = undefined
      }
      this.#parts.log.info({ event: 'audit_enabled', device: path }, 'an audit device was enabled')
    })
  }

  /** Disables a device; its salt is gone. Does nothing if there is none. */
  async disable(path: string): Promise<void> {
    this.#checkApi('disable')
    await this.#changes.run(async (write) => {
      const found = this.#enabled.find(({ description }) => description.path === path)
      if (found?.isFixed === true) throw apiRefusal('disable')
      // also the record of a device that could not be opened
      await write([{ key: devices + path, value: undefined }])
      if (found === undefined) return
      await this.#remove(found, () => this.#parts.forget(path))
    })
  }

  /** The hash that entries of a device show for a text; undefined if there is no such device. */
  hashOf(path: string, text: string): string | undefined {
    return this.#enabled.find(({ description }) => description.path === path)?.hashing.hash(text)
  }

  async reopen(): Promise<void> {
    await Promise.allSettled(this.#enabled.map(({ device }) => device.reopen()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#enabled.map(({ device }) => device[Symbol.asyncDispose]()))
    await Promise.allSettled(this.#closing)
  }

  /** Enables and disables devices as another server has done. */
  async #follow(records: readonly ViewRecord[], gone: readonly string[]): Promise<void> {
    if (this.#isClosed) return
    for (const key of gone) this.#left(key.slice(devices.length))
    for (const record of records) {
      try {
        await this.#joined(record)
      } catch (error) {
        if (isTransient(error)) throw error
        this.#parts.onUnreadable(error)
      }
    }
  }

  /** Does not wait for the device: until it is open, its lines wait. */
  async #joined({ key, value }: ViewRecord): Promise<void> {
    const path = key.slice(devices.length)
    const { salt, ...described } = readRecord(value)
    const found = this.#enabled.find(({ description }) => description.path === path)
    if (found?.isFixed === true || found?.salt === salt || this.#enabling === salt) return
    const enabled = await this.#begun({ description: { path, ...described }, salt, isFixed: false })
    this.#left(path)
    this.#enabled = [...this.#enabled, enabled]
    this.#parts.log.info(
      { event: 'audit_enabled', device: path },
      'another server has enabled an audit device',
    )
  }

  /** A device that this server cannot open writes nothing; it does not concern the other servers. */
  async #begun(wanted: Wanted): Promise<Enabled> {
    const { path } = wanted.description
    try {
      const files = new Set(
        this.#enabled.filter((one) => one.description.path !== path).flatMap((one) => one.files),
      )
      const target = sinkTarget(wanted.description.type, wanted.description.options, this.#parts.limits)
      takeFile(target, files)
      return { ...this.#described(wanted, target), device: await this.#parts.open({ path, target }) }
    } catch (err) {
      if (isTransient(err)) throw err
      const text = 'an audit device that another server has enabled cannot be opened here'
      this.#parts.log.error({ event: 'audit_failed', device: path, err }, text)
      return { ...this.#described(wanted, { kind: 'discard' }), device: closedDevice(path, err) }
    }
  }

  /** In the background, because a device has two seconds for its last lines. */
  #left(path: string): void {
    const found = this.#enabled.find((one) => one.description.path === path && !one.isFixed)
    if (found === undefined) return
    const closing = this.#remove(found, () => this.#parts.forgetOwn(path))
      .catch((err: unknown) =>
        this.#parts.log.error(
          { event: 'audit_unclosed', err, device: path },
          'could not close an audit device',
        ),
      )
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  async #remove(found: Enabled, forget: () => Promise<void>): Promise<void> {
    const { path } = found.description
    this.#enabled = this.#enabled.filter((one) => one !== found)
    await found.device[Symbol.asyncDispose]()
    await forget()
    this.#parts.log.warn({ event: 'audit_disabled', device: path }, 'an audit device was disabled')
  }

  async #writeTo({ description: { path }, device }: Enabled, line: string): Promise<void> {
    const { onWrite } = this.#parts
    if (onWrite === undefined) return device.write(line)
    const started = performance.now()
    const report = (succeeded: boolean) =>
      onWrite({ device: path, succeeded, seconds: (performance.now() - started) / 1000 })
    try {
      await device.write(line)
    } catch (error) {
      report(false)
      throw error
    }
    report(true)
  }

  #checkApi(what: 'enable' | 'disable'): void {
    if (!this.#parts.isOpenToApi) throw apiRefusal(what)
  }

  #checkPath(path: string): void {
    const taken = this.#enabled.map(({ description }) => description.path)
    if (taken.some((other) => other.startsWith(path) || path.startsWith(other)))
      throw refuse('invalid', 'path already in use')
    if (taken.length >= mostDevices) throw refuse('invalid', `more than ${mostDevices} audit devices`)
  }

  async #tried(description: DeviceDescription, salt: string): Promise<Enabled> {
    const options = entryOptions(description.options)
    checkNewTarget(description.type, description.options)
    const target = sinkTarget(description.type, description.options, this.#parts.limits)
    takeFile(target, new Set(this.#enabled.flatMap(({ files }) => files)))
    const enabled = await this.#opened({ description, salt, isFixed: false })
    const { device, hashing } = enabled
    try {
      if (!options.skipsTest || !device.isUp)
        await device.write(await this.#testEntry().requestLine(hashing, this.#parts.clock.now(), ''))
      return enabled
    } catch (error) {
      await device[Symbol.asyncDispose]()
      throw testFailure(enabled, error)
    }
  }

  #testEntry(): Entries {
    return new Entries(
      {
        id: this.#parts.random.uuid(),
        operation: 'update',
        path: 'sys/audit/test',
        data: {},
        namespace: { id: 'root', path: '' },
        mount: undefined,
        alwaysHashed: false,
        secrets: noSecrets,
        remoteAddress: '',
        remotePort: undefined,
        wrapTtl: 0,
        headers: [],
        clientCertificateSerialNumber: undefined,
        tokenId: '',
        isCarried: false,
        caller: undefined,
        verdict: undefined,
      },
      this.#parts,
    )
  }

  async #opened(wanted: Wanted): Promise<Enabled> {
    const { path, type, options } = wanted.description
    const target = sinkTarget(type, options, this.#parts.limits)
    const device = await this.#parts.open({ path, target })
    await device.opened
    return { ...this.#described(wanted, target), device }
  }

  #described({ description, salt, isFixed }: Wanted, target: SinkTarget): Omit<Enabled, 'device'> {
    const hashing = hashingWith(salt, entryOptions(description.options))
    return { description, target, files: realFileOf(target), isFixed, salt, hashing }
  }

  async #openAll(): Promise<void> {
    const files = new Set<string>()
    const wanted = [...(await this.#fixed(files)), ...(await this.#stored(files))]
    const opened = await Promise.allSettled(wanted.map(async (one) => this.#opened(await one)))
    this.#enabled = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    for (const one of opened)
      if (one.status === 'rejected')
        this.#parts.log.error({ event: 'audit_failed', err: one.reason }, 'an audit device cannot be read')
    if (wanted.length === 0 || this.#enabled.some(({ device }) => device.isUp)) return
    await this[Symbol.asyncDispose]()
    throw new StartError(1, 'cannot start: no audit device can write; GATEHOUSE_AUDIT may name another one')
  }

  async #fixed(files: Set<string>): Promise<Promise<Wanted>[]> {
    const { fixed, random, limits, shared } = this.#parts
    const view = this.#parts.view.view('', { isUncopied: true })
    const gone = (await view.listKeys(salts)).filter((key) => !fixed.some(({ path }) => salts + path === key))
    // another server may have such a device
    if (gone.length > 0 && shared === undefined)
      await view.write(gone.map((key) => ({ key, value: undefined })))
    for (const one of fixed) checkFixed(one, limits, files)
    return fixed.map(async (description) => {
      const key = salts + description.path
      await view.putIfAbsent(key, random.uuid())
      return { description, salt: String(await view.get(key)), isFixed: true }
    })
  }

  async #stored(files: Set<string>): Promise<Promise<Wanted>[]> {
    const { fixed, view, log, limits } = this.#parts
    const isReplaced = (path: string) => fixed.some((one) => one.path === path)
    const paths = (await view.listKeys(devices)).map((key) => key.slice(devices.length))
    for (const path of paths.filter(isReplaced))
      log.warn(
        { event: 'audit_replaced', device: path },
        'the settings replace an audit device that the API enabled',
      )
    return paths
      .filter((path) => !isReplaced(path))
      .map(async (path) => {
        const { salt, ...description } = readRecord(await view.get(devices + path))
        takeFile(sinkTarget(description.type, description.options, limits), files)
        return { description: { path, ...description }, salt, isFixed: false }
      })
  }
}

/** A failure of the storage, after which a record is read again. */
const isTransient = (error: unknown): boolean =>
  error instanceof ServiceError && (error.kind === 'unavailable' || error.kind === 'sealed')

const apiRefusal = (what: 'enable' | 'disable') =>
  refuse(
    'invalid',
    `cannot ${what} audit device via API; use declarative, config-based audit device management instead`,
  )

function testFailure({ target, device }: Enabled, error: unknown): ServiceError {
  const cause = error instanceof Error ? error.message : 'failed'
  const file = fileOf(target)
  const text =
    file === undefined || device.isUp
      ? cause
      : `sanity check failed; unable to open ${quoted(file)} for writing: ${cause}`
  return refuse('invalid', `audit backend failed test message: ${text}`)
}

const fileOf = (target: SinkTarget): string | undefined =>
  target.kind === 'file' ? resolve(target.path) : undefined

function realFileOf(target: SinkTarget): string[] {
  if (target.kind === 'file') return [realFile(target.path)]
  return target.kind === 'stdout' ? ['stdout'] : []
}

/** Two writers of one file would break both chains. */
function takeFile(target: SinkTarget, taken: Set<string>): void {
  for (const file of realFileOf(target)) {
    if (taken.has(file)) throw refuse('invalid', 'another audit device writes to this file')
    taken.add(file)
  }
}

function checkFixed(
  { path, type, options }: DeviceDescription,
  limits: DeviceLimits,
  files: Set<string>,
): void {
  try {
    entryOptions(options)
    checkNewTarget(type, options)
    takeFile(sinkTarget(type, options, limits), files)
  } catch (error) {
    const text = error instanceof Error ? error.message : ''
    throw new StartError(2, `GATEHOUSE_AUDIT: device ${path}: ${text}`)
  }
}
