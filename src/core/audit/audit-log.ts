import { resolve } from 'node:path'
import { fail, refuse, type ServiceError, StartError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import { quoted } from '../../lib/go/text.ts'
import type { Random } from '../../lib/random.ts'
import type { View } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import type { AuditDevice } from './device.ts'
import { type DeviceLimits, sinkTarget } from './device-options.ts'
import { checkSizes, type DeviceDescription, entryOptions } from './device-rules.ts'
import { Entries, type Soon } from './entry.ts'
import { realFile } from './file-sink.ts'
import { type Hashing, hashingWith } from './hashing.ts'
import type { SinkTarget } from './sink.ts'

export type AuditLogParts = {
  /** Holds the records of devices. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly log: CoreLog
  /** The version reported to clients. */
  readonly version: string
  /** Devices of the settings: the API can only read them. */
  readonly fixed: readonly DeviceDescription[]
  /** Whether the API may enable and disable devices. */
  readonly isOpenToApi: boolean
  readonly limits: DeviceLimits
  /** Never rejects: a device that fails is tried again. */
  open(device: { readonly path: string; readonly target: SinkTarget }): Promise<AuditDevice>
  /** Drops what is stored about the chains of a disabled device. */
  forget(path: string): Promise<void>
  /** Called after each write of an entry. */
  readonly onWrite?: ((written: AuditedWrite) => void) | undefined
}

/** An entry was written, or could not be. */
type AuditedWrite = { readonly device: string; readonly succeeded: boolean; readonly seconds: number }

/** An enabled device. */
type Enabled = {
  readonly description: DeviceDescription
  readonly target: SinkTarget
  /** The real path of its file, if it has one. */
  readonly files: readonly string[]
  readonly isFixed: boolean
  readonly hashing: Hashing
  readonly device: AuditDevice
}

/** A device to open. */
type Wanted = { readonly description: DeviceDescription; readonly salt: string; readonly isFixed: boolean }

type DeviceRecord = Omit<DeviceDescription, 'path'> & { readonly salt: string }

const devices = 'device/'
/** Salts of the devices of the settings. */
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
  readonly #mutex = new KeyedMutex()
  #enabled: readonly Enabled[] = []
  #isClosed = false

  private constructor(parts: AuditLogParts) {
    this.#parts = parts
  }

  /** Opens all devices. Throws a StartError if there are some and none can be opened. */
  static async open(parts: AuditLogParts): Promise<AuditLog> {
    const log = new AuditLog(parts)
    await log.#openAll()
    return log
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
  async write(line: (hashing: Hashing, now: number) => Soon<string>): Promise<void> {
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
    await this.#mutex.runExclusive('', async () => {
      this.#checkPath(described.path)
      checkSizes(described)
      const salt = this.#parts.random.uuid()
      const enabled = await this.#tried(described, salt)
      const { path, ...record } = described
      try {
        const stored: DeviceRecord = { ...record, salt }
        await this.#parts.view.write([{ key: devices + path, value: stored }])
      } catch (error) {
        await enabled.device[Symbol.asyncDispose]()
        throw error
      }
      this.#enabled = [...this.#enabled, enabled]
      this.#parts.log.info({ event: 'audit_enabled', device: path }, 'an audit device was enabled')
    })
  }

  /** Disables a device; its salt is gone. Does nothing if there is none. */
  async disable(path: string): Promise<void> {
    this.#checkApi('disable')
    await this.#mutex.runExclusive('', async () => {
      const found = this.#enabled.find(({ description }) => description.path === path)
      if (found?.isFixed === true) throw apiRefusal('disable')
      // also the record of a device that could not be opened
      await this.#parts.view.write([{ key: devices + path, value: undefined }])
      if (found === undefined) return
      this.#enabled = this.#enabled.filter((one) => one !== found)
      await found.device[Symbol.asyncDispose]()
      await this.#parts.forget(path)
      this.#parts.log.warn({ event: 'audit_disabled', device: path }, 'an audit device was disabled')
    })
  }

  /** The hash that entries of a device show for a text; undefined if there is no such device. */
  hashOf(path: string, text: string): string | undefined {
    return this.#enabled.find(({ description }) => description.path === path)?.hashing.hash(text)
  }

  /** Opens the files again, after they were renamed. */
  async reopen(): Promise<void> {
    await Promise.allSettled(this.#enabled.map(({ device }) => device.reopen()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#enabled.map(({ device }) => device[Symbol.asyncDispose]()))
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
        ...{ id: this.#parts.random.uuid(), operation: 'update', path: 'sys/audit/test', data: {} },
        ...{ namespace: { id: 'root', path: '' }, mount: undefined, alwaysHashed: false },
        ...{ remoteAddress: '', remotePort: undefined, wrapTtl: 0, headers: [] },
        ...{ tokenId: '', caller: undefined, verdict: undefined },
      },
      this.#parts,
    )
  }

  async #opened({ description, salt, isFixed }: Wanted): Promise<Enabled> {
    const { path, type, options } = description
    const target = sinkTarget(type, options, this.#parts.limits)
    const hashing = hashingWith(salt, entryOptions(options))
    const files = realFileOf(target)
    const device = await this.#parts.open({ path, target })
    return { description, target, files, isFixed, hashing, device }
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

  /** The devices of the settings. */
  async #fixed(files: Set<string>): Promise<Promise<Wanted>[]> {
    const { fixed, view, random, limits } = this.#parts
    const gone = (await view.listKeys(salts)).filter((key) => !fixed.some(({ path }) => salts + path === key))
    if (gone.length > 0) await view.write(gone.map((key) => ({ key, value: undefined })))
    for (const one of fixed) checkFixed(one, limits, files)
    return fixed.map(async (description) => {
      const key = salts + description.path
      await view.putIfAbsent(key, random.uuid())
      return { description, salt: String(await view.get(key)), isFixed: true }
    })
  }

  /** The devices that the API has enabled. */
  async #stored(files: Set<string>): Promise<Promise<Wanted>[]> {
    const { fixed, view, log, limits } = this.#parts
    const isReplaced = (path: string) => fixed.some((one) => one.path === path)
    const paths = (await view.listKeys(devices)).map((key) => key.slice(devices.length))
    for (const path of paths.filter(isReplaced))
      log.warn({ device: path }, 'the settings replace an audit device that the API enabled')
    return paths
      .filter((path) => !isReplaced(path))
      .map(async (path) => {
        const { salt, ...description } = readRecord(await view.get(devices + path))
        takeFile(sinkTarget(description.type, description.options, limits), files)
        return { description: { path, ...description }, salt, isFixed: false }
      })
  }
}

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

/** The real path of the file that a device writes to, if any. */
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
    takeFile(sinkTarget(type, options, limits), files)
  } catch (error) {
    const text = error instanceof Error ? error.message : ''
    throw new StartError(2, `GATEHOUSE_AUDIT: device ${path}: ${text}`)
  }
}

/** Checks only what is used to open a device, since this server sealed the record. */
function readRecord(value: unknown): DeviceRecord {
  const record = value as Partial<DeviceRecord> | null
  if (
    typeof record?.salt === 'string' &&
    typeof record.type === 'string' &&
    typeof record.options === 'object'
  )
    return record as DeviceRecord
  throw fail('internal', 'internal error', { cause: new Error('the record of an audit device is damaged') })
}
