/**
 * A mount of version 2 as the contract describes it, without storage, concurrency or HTTP: what each call
 * answers, and what it leaves. docs/contract/kv.md
 */

type Pairs = Readonly<Record<string, string | null>>
export type Data = Readonly<Record<string, unknown>> | null
export type Settings = {
  readonly max_versions?: number | null
  readonly cas_required?: boolean | null
  readonly delete_version_after?: number | null
  readonly metadata_cas_required?: boolean | null
  readonly custom_metadata?: Pairs | null
}

export type Config = {
  readonly max_versions: number
  readonly cas_required: boolean
  readonly metadata_cas_required: boolean
  readonly delete_version_after: number
}

export type Expected = {
  readonly status: number
  readonly errors?: readonly string[]
  readonly data?: unknown
  readonly warnings?: readonly string[]
}

type Version = {
  readonly data: Data
  readonly created: number
  readonly createdBy: string
  deletion: number | undefined
  deletedBy: string | null
  destroyed: boolean
}

type Key = {
  readonly created: number
  updated: number
  updatedBy: string
  current: number
  oldest: number
  metadataVersion: number
  maxVersions: number
  casRequired: boolean
  metadataCasRequired: boolean
  deleteVersionAfter: number
  customMetadata: Record<string, string>
  versions: Map<number, Version>
}

const done: Expected = { status: 204 }
const unknown: Expected = { status: 404, errors: [] }
const nothing: Expected = { status: 404 }
const refused = (text: string): Expected => ({ status: 400, errors: [text] })

const time = (ms: number | undefined): string =>
  ms === undefined ? '' : new Date(ms).toISOString().replace(/\.?0+Z$/, 'Z')

const durations = new Map([
  [-1, '-1s'],
  [0, '0s'],
  [90, '1m30s'],
  [3600, '1h0m0s'],
  [86_400, '24h0m0s'],
])
/** Lifetimes whose texts the model knows, in seconds. */
export const knownLifetimes = [0, 90, 3600, 86_400] as const

export class KvModel {
  now: number
  config: Config = {
    max_versions: 0,
    cas_required: false,
    metadata_cas_required: false,
    delete_version_after: 0,
  }
  readonly #keys = new Map<string, Key>()

  constructor(now: number) {
    this.now = now
  }

  currentOf(path: string): number {
    return this.#keys.get(path)?.current ?? 0
  }

  metadataVersionOf(path: string): number {
    return this.#keys.get(path)?.metadataVersion ?? 0
  }

  write(path: string, data: Data, cas: number | undefined): Expected {
    const key = this.#keys.get(path)
    return this.#wrongCas(key, cas) ?? this.#append(path, data, key === undefined ? 'create' : 'update')
  }

  patch(path: string, patch: Data, cas: number | undefined): Expected {
    const key = this.#keys.get(path)
    if (key === undefined) return nothing
    const wrong = this.#wrongCas(key, cas)
    if (wrong !== undefined) return wrong
    const last = key.versions.get(key.current)
    if (last === undefined) return nothing
    if (this.#isGone(last)) return { status: 404, data: this.#shown(key, key.current, last) }
    return this.#append(path, patch && merged(last.data ?? {}, patch), 'patch')
  }

  restore(path: string, number: number, cas: number | undefined): Expected {
    const key = this.#keys.get(path)
    const version = key?.versions.get(number)
    if (key === undefined || version === undefined) return unknown
    const wrong = this.#wrongCas(key, cas)
    if (wrong !== undefined) return wrong
    if (this.#isGone(version)) return this.#hidden(key, number, version)
    return this.#append(path, version.data, 'restore')
  }

  copy(to: string, from: string, isWhole: boolean): Expected {
    const source = this.#keys.get(from)
    if (source === undefined) return unknown
    if (this.#keys.has(to)) return refused('target exists')
    const last = source.versions.get(source.current)
    if (isWhole) {
      this.#keys.set(to, structuredClone(source))
      return last === undefined ? done : { status: 200, data: this.#shown(source, source.current, last) }
    }
    if (last === undefined) return unknown
    if (this.#isGone(last)) return this.#hidden(source, source.current, last)
    return this.#append(to, last.data, 'copy')
  }

  move(to: string, from: string): Expected {
    const answer = this.copy(to, from, true)
    if (answer.status < 300) this.#keys.delete(from)
    return answer
  }

  /** Undefined: the current version. */
  delete(path: string, numbers: readonly number[] = [this.currentOf(path)]): Expected {
    for (const version of this.#chosen(path, numbers)) {
      if (this.#isGone(version)) continue
      this.#touch(path)
      version.deletion = this.now
      version.deletedBy = 'delete'
    }
    return done
  }

  undelete(path: string, numbers: readonly number[]): Expected {
    const key = this.#keys.get(path)
    for (const version of this.#chosen(path, numbers)) {
      if (version.destroyed || key === undefined) continue
      const deletion = this.#deletionOf(key)
      if (version.deletedBy !== null || version.deletion !== deletion) this.#touch(path)
      version.deletion = deletion
      version.deletedBy = null
    }
    return done
  }

  destroy(path: string, numbers: readonly number[]): Expected {
    for (const version of this.#chosen(path, numbers)) {
      if (!version.destroyed) this.#touch(path)
      version.destroyed = true
    }
    return done
  }

  #touch(path: string): void {
    const key = this.#keys.get(path)
    if (key !== undefined) key.updated = this.now
  }

  remove(path: string): Expected {
    this.#keys.delete(path)
    return done
  }

  setMetadata(path: string, settings: Settings, cas: number | undefined): Expected {
    const before = this.#keys.get(path)
    const wrong = this.#wrongMetadataCas(before, cas)
    if (wrong !== undefined) return wrong
    const key = before ?? this.#newKey('update')
    this.#keys.set(path, key)
    return this.#set(key, settings, { by: 'update', pairs: {} })
  }

  patchMetadata(path: string, settings: Settings, cas: number | undefined): Expected {
    const key = this.#keys.get(path)
    if (key === undefined) return nothing
    const wrong = this.#wrongMetadataCas(key, cas)
    return wrong ?? this.#set(key, settings, { by: 'patch', pairs: key.customMetadata })
  }

  setConfig(changes: Partial<Config>): Expected {
    this.config = { ...this.config, ...changes }
    return done
  }

  readConfig(): Expected {
    const { delete_version_after, ...others } = this.config
    return {
      status: 200,
      data: {
        ...others,
        delete_version_after: durations.get(delete_version_after),
        effective_max_versions: this.config.max_versions || 10,
      },
    }
  }

  /** 0 is the current version. */
  read(path: string, number = 0): Expected {
    const found = this.#found(path, number)
    if (found === undefined) return unknown
    const { key, version, at } = found
    if (this.#isGone(version)) return this.#hidden(key, at, version)
    return { status: 200, data: { data: version.data, metadata: this.#shown(key, at, version) } }
  }

  readSubkeys(path: string): Expected {
    const found = this.#found(path, 0)
    if (found === undefined) return unknown
    const metadata = this.#shown(found.key, found.at, found.version)
    return this.#isGone(found.version)
      ? { status: 404, data: { subkeys: null, metadata } }
      : { status: 200, data: { subkeys: found.version.data && subkeys(found.version.data), metadata } }
  }

  readMetadata(path: string): Expected {
    const key = this.#keys.get(path)
    return key === undefined ? unknown : { status: 200, data: this.#metadata(key) }
  }

  list(folder: string): Expected {
    const below = this.#below(folder)
    const names = new Set(below.map((path) => path.replace(/\/.*/s, '/')))
    return names.size === 0 ? unknown : { status: 200, data: { keys: [...names] } }
  }

  listLiving(folder: string): Expected {
    const isShown = (name: string) => {
      const key = this.#keys.get(folder + name)
      const last = key?.versions.get(key.current)
      return name.endsWith('/') || last === undefined || !this.#isGone(last)
    }
    const { data } = this.list(folder)
    const { keys = [] }: { keys?: string[] } = Object(data)
    const kept = keys.filter(isShown)
    return kept.length === 0 ? unknown : { status: 200, data: { keys: kept } }
  }

  scan(folder: string): Expected {
    const keys = this.#below(folder)
    return { status: 200, data: keys.length === 0 ? {} : { keys } }
  }

  details(): Expected {
    const keys = this.#below('')
    const key_info: Record<string, unknown> = {}
    for (const path of keys) {
      const key = this.#keys.get(path)
      if (key !== undefined) key_info[path] = this.#metadata(key)
    }
    return { status: 200, data: keys.length === 0 ? {} : { keys, key_info } }
  }

  #below(folder: string): string[] {
    return [...this.#keys.keys()]
      .filter((path) => path.startsWith(folder))
      .map((path) => path.slice(folder.length))
      .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
  }

  #found(path: string, number: number) {
    const key = this.#keys.get(path)
    const at = number > 0 ? number : (key?.current ?? 0)
    const version = key?.versions.get(at)
    return key === undefined || version === undefined ? undefined : { key, version, at }
  }

  #chosen(path: string, numbers: readonly number[]): Version[] {
    const versions = this.#keys.get(path)?.versions
    return numbers.flatMap((number) => versions?.get(number) ?? [])
  }

  #newKey(by: string): Key {
    return {
      created: this.now,
      updated: this.now,
      updatedBy: by,
      current: 0,
      oldest: 0,
      metadataVersion: 0,
      maxVersions: 0,
      casRequired: false,
      metadataCasRequired: false,
      deleteVersionAfter: 0,
      customMetadata: {},
      versions: new Map(),
    }
  }

  #append(path: string, data: Data, by: string): Expected {
    const key = this.#keys.get(path) ?? this.#newKey(by)
    this.#keys.set(path, key)
    key.current += 1
    key.updated = this.now
    key.updatedBy = by
    const version: Version = {
      data,
      created: this.now,
      createdBy: by,
      deletion: this.#deletionOf(key),
      deletedBy: null,
      destroyed: false,
    }
    key.versions.set(key.current, version)
    const kept = Math.max(key.maxVersions, this.config.max_versions) || 10
    if (key.current - key.oldest >= kept) {
      key.oldest = key.current - kept + 1
      for (const number of key.versions.keys()) if (number < key.oldest) key.versions.delete(number)
    }
    return { status: 200, data: this.#shown(key, key.current, version) }
  }

  #set(
    key: Key,
    settings: Settings,
    { by, pairs }: { by: string; pairs: Readonly<Record<string, string>> },
  ): Expected {
    const { custom_metadata: sent } = settings
    if (settings.max_versions !== undefined) key.maxVersions = settings.max_versions ?? 0
    if (settings.cas_required !== undefined) key.casRequired = settings.cas_required ?? false
    if (settings.delete_version_after !== undefined)
      key.deleteVersionAfter = settings.delete_version_after ?? 0
    if (settings.metadata_cas_required !== undefined)
      key.metadataCasRequired = settings.metadata_cas_required ?? false
    if (sent !== undefined)
      key.customMetadata = Object.fromEntries(
        Object.entries({ ...(sent === null ? {} : pairs), ...sent }).filter(
          (pair): pair is [string, string] => pair[1] !== null,
        ),
      )
    key.metadataVersion += 1
    key.updated = this.now
    key.updatedBy = by
    const ignored = (['cas_required', 'metadata_cas_required'] as const).filter(
      (name) => settings[name] !== undefined && !settings[name] && this.config[name],
    )
    if (ignored.length === 0) return done
    const warnings = ignored.map(
      (name) => `"${name}" set to false, but is mandated by backend config. This value will be ignored.`,
    )
    return { status: 200, warnings }
  }

  #wrongCas(key: Key | undefined, cas: number | undefined): Expected | undefined {
    if (cas === undefined)
      return this.config.cas_required || key?.casRequired
        ? refused('check-and-set parameter required for this call')
        : undefined
    return cas === (key?.current ?? 0)
      ? undefined
      : refused('check-and-set parameter did not match the current version')
  }

  #wrongMetadataCas(key: Key | undefined, cas: number | undefined): Expected | undefined {
    if (cas === undefined)
      return this.config.metadata_cas_required || key?.metadataCasRequired
        ? refused('metadata check-and-set parameter required for this call')
        : undefined
    if (key === undefined)
      return cas === 0 ? undefined : refused('metadata_cas must be 0 when creating new metadata')
    return cas === key.metadataVersion
      ? undefined
      : refused('metadata check-and-set parameter does not match the current version')
  }

  #deletionOf(key: Key): number | undefined {
    const seconds = this.#lifetimeOf(key)
    return seconds === 0 ? undefined : this.now + seconds * 1000
  }

  /** Seconds; 0: for ever. */
  #lifetimeOf({ deleteVersionAfter }: Key): number {
    const mount = this.config.delete_version_after
    if (mount < 0) return 0
    const seconds = Math.min(
      deleteVersionAfter || Number.POSITIVE_INFINITY,
      mount || Number.POSITIVE_INFINITY,
    )
    return Number.isFinite(seconds) ? seconds : 0
  }

  #isGone({ destroyed, deletion }: Version): boolean {
    return destroyed || (deletion !== undefined && deletion <= this.now)
  }

  #hidden(key: Key, number: number, version: Version): Expected {
    return { status: 404, data: { data: null, metadata: this.#shown(key, number, version) } }
  }

  #shown(key: Key, number: number, { created, deletion, destroyed }: Version) {
    return {
      version: number,
      created_time: time(created),
      deletion_time: time(deletion),
      destroyed,
      custom_metadata: pairsOrNull(key.customMetadata),
    }
  }

  /** Of who did something, the operation only. */
  #metadata(key: Key) {
    return {
      cas_required: key.casRequired,
      created_time: time(key.created),
      current_metadata_version: key.metadataVersion,
      current_version: key.current,
      custom_metadata: pairsOrNull(key.customMetadata),
      delete_version_after: durations.get(key.deleteVersionAfter),
      effective_delete_version_after: durations.get(this.#lifetimeOf(key)),
      effective_max_versions: Math.max(key.maxVersions, this.config.max_versions) || 10,
      last_updated_by: key.updatedBy,
      max_versions: key.maxVersions,
      metadata_cas_required: key.metadataCasRequired,
      oldest_version: key.oldest,
      updated_time: time(key.updated),
      versions: Object.fromEntries(
        [...key.versions].map(([number, version]) => [
          String(number),
          {
            created_by: version.createdBy,
            created_time: time(version.created),
            deleted_by: version.deletedBy,
            deletion_time: time(version.deletion),
            destroyed: version.destroyed,
          },
        ]),
      ),
    }
  }
}

const pairsOrNull = (pairs: Readonly<Record<string, string>>) =>
  Object.keys(pairs).length === 0 ? null : pairs

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** RFC 7396. */
function merged(
  target: Readonly<Record<string, unknown>>,
  patch: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const result: Record<string, unknown> = { ...target }
  for (const [name, value] of Object.entries(patch)) {
    const before = result[name]
    if (value === null) delete result[name]
    else result[name] = isMap(value) ? merged(isMap(before) ? before : {}, value) : value
  }
  return result
}

/** Every leaf is null. */
const subkeys = (data: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      isMap(value) && Object.keys(value).length > 0 ? subkeys(value) : null,
    ]),
  )
