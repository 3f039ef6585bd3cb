import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { slicesOf } from '../../lib/data/pages.ts'
import {
  deletedThere,
  deletedVersions,
  endedVersions,
  endsEarlier,
  isLive,
  type Loss,
  type Metadata,
  metadataShape,
  missingVersions,
  settingsOf,
  stateDifferences,
} from './kv-differences.ts'
import { type Body, bodyShape, RefusedRequest } from './remote-server.ts'
import type { Scope } from './scope.ts'

/** In the custom metadata of a key whose import has not ended. */
const mark = 'gatehouse-import'
const markText = 'unfinished'
const versionsPerRequest = 400

const dataShape = z.object({ data: bodyShape.nullable() })
const writtenShape = z.object({ created_time: z.string(), deletion_time: z.string() })

/**
 * Imports a key of version 2 with all versions and their numbers. Versions whose data the source does not have
 * or does not show become destroyed versions. The key is marked until all is written, and a marked key
 * continues where it stopped. A key that the target has is compared; an update brings over what is newer.
 */
export async function importKey(scope: Scope, mount: string, key: string): Promise<void> {
  const { from, to, report, namespace, isDryRun, isUpdate } = scope
  const item = { kind: 'secret', namespace, path: mount + key }
  const { data: ours } = metadataShape.safeParse(await to.read(`${mount}metadata/${key}`))
  const { data: theirs } = metadataShape.safeParse(await from.read(`${mount}metadata/${key}`))
  if (theirs === undefined)
    return ours === undefined ? report.failed(item, 'the secret is gone') : report.existed(item)
  const told = (losses: readonly Loss[]) => {
    for (const { version, reason } of losses)
      report.failed({ ...item, kind: 'secret_version', path: `${item.path} version ${version}` }, reason)
  }
  const marked = baseOf(ours)
  let difference: string | undefined
  if (ours !== undefined && marked === undefined) {
    told(missingVersions(theirs, ours, ours.current_version))
    const { brought, left, isOwn } = await differences(scope, `${mount}data/${key}`, theirs, ours)
    const text = [...brought, ...left].join('; ')
    if (isUpdate && isOwn && theirs.current_version > ours.current_version)
      throw new RefusedRequest(0, `${text}: versions of the target are never replaced`)
    if (!isUpdate || brought.length === 0) return report.existed(item, text === '' ? undefined : text)
    difference = brought.join('; ')
  }
  const base = marked ?? ours?.current_version ?? 0
  const run = new KeyImport({ scope, mount, key, theirs, ours, base })
  if (!isDryRun) await run.run()
  if (difference === undefined) report.imported(item)
  else report.updated(item, difference)
  const deleted = deletedVersions(theirs).filter((version) => version > base)
  told(deleted.map((version) => ({ version, reason: deletedThere })))
  told(run.vanished.map((version) => ({ version, reason: 'it was deleted while it was imported' })))
  told(run.shortened.map((version) => ({ version, reason: endsEarlier })))
}

/** How many versions were complete before the import that a mark is of; undefined without a mark. */
function baseOf(ours: Metadata | undefined): number | undefined {
  const text = ours?.custom_metadata?.[mark]
  const [, base] = typeof text === 'string' ? (/^unfinished(?: after ([1-9]\d{0,8}))?$/.exec(text) ?? []) : []
  if (text === markText) return 0
  return base === undefined ? undefined : Number(base)
}

/**
 * How the target's key differs: what an update brings over, and what it leaves. An update changes nothing if the
 * target has versions of its own.
 */
async function differences(scope: Scope, path: string, theirs: Metadata, ours: Metadata) {
  const { brought, left } = stateDifferences(theirs, ours)
  const last = Math.min(theirs.current_version, ours.current_version)
  const compared = scope.everyVersion === true ? Object.keys(ours.versions) : [String(last)]
  const others: string[] = []
  for (const version of compared)
    if (isLive(theirs.versions[version]) && isLive(ours.versions[version]))
      if (await hasOtherData(scope, path, version)) others.push(`version ${version} has other data`)
  const isOwn = others.length > 0 || ours.current_version > theirs.current_version
  const all = [...brought, ...left, ...others]
  return isOwn ? { isOwn, brought: [], left: all } : { isOwn, brought, left }
}

async function hasOtherData({ from, to }: Scope, path: string, version: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all([from, to].map((server) => server.read(path, { version })))
  return !isDeepStrictEqual(dataShape.safeParse(theirs).data, dataShape.safeParse(ours).data)
}

/** Has one version, and nothing else to be written. */
const isSimple = ({ current_version: current, versions, ...settings }: Metadata): boolean => {
  const { max_versions, cas_required, metadata_cas_required, delete_version_after, custom_metadata } =
    settings
  const isPlain = max_versions === 0 && !cas_required && !metadata_cas_required
  const hasNoTexts = Object.keys(custom_metadata ?? {}).length === 0
  const only = versions['1']
  const isKept = only !== undefined && !only.destroyed && only.deletion_time === ''
  return current === 1 && isKept && isPlain && delete_version_after === '0s' && hasNoTexts
}

type KeyImportParts = {
  readonly scope: Scope
  readonly mount: string
  readonly key: string
  readonly theirs: Metadata
  /** Undefined if the target has no such key. */
  readonly ours: Metadata | undefined
  /** The versions up to this one were complete before the import, and stay. */
  readonly base: number
}

class KeyImport {
  /** Versions that the source no longer has. */
  readonly vanished: number[] = []
  /** Versions that end earlier on the target. */
  readonly shortened: number[] = []
  readonly #parts: KeyImportParts
  /** What the target deletes the next version after, in seconds; 0: never. */
  #deletesAfter = 0

  constructor(parts: KeyImportParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    if (this.#parts.ours === undefined && isSimple(this.#parts.theirs)) {
      const data = await this.#dataOf(1)
      // one write, after which nothing is unfinished
      if (data !== undefined) return this.#write(1, { data, ends: '' })
    }
    await this.#runMarked()
  }

  async #runMarked(): Promise<void> {
    const { theirs, ours, base } = this.#parts
    const { current_version: current, versions } = theirs
    const written = ours?.current_version ?? 0
    const kept = Math.max(1, ...Object.keys(versions).map((version) => current - Number(version) + 1))
    const text = base === 0 ? markText : `${markText} after ${base}`
    const unfinished = { custom_metadata: { [mark]: text }, max_versions: kept }
    // no later write of the settings names their version
    const unguarded = ours?.metadata_cas_required
      ? { metadata_cas_required: false, metadata_cas: ours.current_metadata_version }
      : {}
    await this.#settings({ ...unfinished, ...unguarded, delete_version_after: '0s' })
    const lost: number[] = []
    for (let version = base + 1; version <= current; version += 1) {
      const info = versions[version]
      const isLost = !isLive(info)
      if (isLost) lost.push(version)
      if (version <= written) continue
      const data = isLost ? undefined : await this.#dataOf(version)
      if (data === undefined && !isLost) this.vanished.push(version)
      await this.#write(version, data === undefined ? undefined : { data, ends: info?.deletion_time ?? '' })
    }
    const ended = ours && endedVersions(theirs, ours, base)
    await this.#end('delete', ended?.deleted ?? [])
    await this.#end('destroy', [...(ended?.destroyed ?? []), ...lost, ...this.vanished])
    const { metadata_cas_required, ...settings } = settingsOf(theirs)
    await this.#settings({ ...settings, ...(metadata_cas_required ? { metadata_cas_required } : {}) })
  }

  async #end(how: 'delete' | 'destroy', versions: readonly number[]): Promise<void> {
    const { scope, mount, key } = this.#parts
    for (const some of slicesOf(versions, versionsPerRequest))
      await scope.to.write(`${mount}${how}/${key}`, { versions: some })
  }

  /** Undefined if it is gone since its metadata was read. */
  async #dataOf(version: number): Promise<Body | null | undefined> {
    const { scope, mount, key } = this.#parts
    const read = await scope.from.read(`${mount}data/${key}`, { version: String(version) })
    if (read === undefined) return undefined
    const { data: shown } = dataShape.safeParse(read)
    if (shown === undefined) throw new RefusedRequest(0, `the source does not show version ${version}`)
    return shown.data
  }

  /** Without `shown`, the version holds nothing and is destroyed in the end. */
  async #write(
    version: number,
    shown: { readonly data: Body | null; readonly ends: string } | undefined,
  ): Promise<void> {
    const { scope, mount, key } = this.#parts
    await this.#deleteAfter(shown?.ends ?? '')
    const body: Body = { data: shown === undefined ? {} : shown.data, options: { cas: version - 1 } }
    const { data } = await scope.to.write(`${mount}data/${key}`, body)
    if (shown !== undefined && this.#endsEarlier(data)) this.shortened.push(version)
  }

  /** Of two times, the shorter counts: the key's, which is as long as the version has left, and the mount's. */
  #endsEarlier(written: Body): boolean {
    const { data } = writtenShape.safeParse(written)
    if (data === undefined || data.deletion_time === '') return false
    const seconds = (Date.parse(data.deletion_time) - Date.parse(data.created_time)) / 1000
    return this.#deletesAfter === 0 || seconds < this.#deletesAfter - 1
  }

  /** The next version ends when the one of the source does. */
  async #deleteAfter(deletionTime: string): Promise<void> {
    const left = deletionTime === '' ? 0 : Math.ceil((Date.parse(deletionTime) - Date.now()) / 1000)
    const seconds = deletionTime === '' ? 0 : Math.max(1, left)
    if (seconds === this.#deletesAfter) return
    await this.#settings({ delete_version_after: `${seconds}s` })
    this.#deletesAfter = seconds
  }

  async #settings(settings: Body): Promise<void> {
    const { scope, mount, key } = this.#parts
    await scope.to.write(`${mount}metadata/${key}`, settings)
  }
}
