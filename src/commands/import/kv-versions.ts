import { z } from 'zod'
import { type Body, bodyShape, RefusedRequest } from './remote-server.ts'
import type { Scope } from './scope.ts'

/** In the custom metadata of a key whose import has not ended. */
const mark = 'gatehouse-import'
const markText = 'unfinished'
const versionsPerRequest = 400

const metadataShape = z.object({
  current_version: z.number(),
  max_versions: z.number().default(0),
  cas_required: z.boolean().default(false),
  metadata_cas_required: z.boolean().default(false),
  delete_version_after: z.string().default('0s'),
  custom_metadata: bodyShape.nullish(),
  versions: z.record(z.string(), z.object({ deletion_time: z.string(), destroyed: z.boolean() })),
})
type Metadata = z.infer<typeof metadataShape>
const dataShape = z.object({ data: bodyShape.nullable() })
const writtenShape = z.object({ created_time: z.string(), deletion_time: z.string() })

/**
 * Imports a key of version 2 with all versions and their numbers. Versions whose data the source does not have
 * or does not show become destroyed versions. The key is marked until all is written, and a marked key
 * continues where it stopped.
 */
export async function importKey(scope: Scope, mount: string, key: string): Promise<void> {
  const { from, to, report, namespace, isDryRun } = scope
  const item = { kind: 'secret', namespace, path: mount + key }
  const { data: ours } = metadataShape.safeParse(await to.read(`${mount}metadata/${key}`))
  if (ours !== undefined && ours.custom_metadata?.[mark] !== markText) return report.existed(item)
  const { data: theirs } = metadataShape.safeParse(await from.read(`${mount}metadata/${key}`))
  if (theirs === undefined) return report.failed(item, 'the secret is gone')
  const run = new KeyImport(scope, mount, key, theirs)
  if (!isDryRun) await run.run(ours?.current_version)
  report.imported(item)
  const lost = (version: number, reason: string) =>
    report.failed({ kind: 'secret_version', namespace, path: `${mount}${key} version ${version}` }, reason)
  for (const version of deletedVersions(theirs))
    lost(version, 'it is deleted, so the source does not show it')
  for (const version of run.vanished) lost(version, 'it was deleted while it was imported')
  for (const version of run.shortened)
    lost(version, 'the target deletes it earlier: delete_version_after of its mount is shorter')
}

type VersionInfo = Metadata['versions'][string]

/** Has a time in the past. */
const isDeleted = ({ deletion_time: time }: VersionInfo) => time !== '' && Date.parse(time) <= Date.now()

const deletedVersions = ({ versions }: Metadata): number[] =>
  Object.entries(versions).flatMap(([version, info]) =>
    isDeleted(info) && !info.destroyed ? [Number(version)] : [],
  )

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

class KeyImport {
  /** Versions that the source no longer has. */
  readonly vanished: number[] = []
  /** Versions that end earlier on the target. */
  readonly shortened: number[] = []
  readonly #scope: Scope
  readonly #mount: string
  readonly #key: string
  readonly #theirs: Metadata
  /** What the target deletes the next version after, in seconds; 0: never. */
  #deletesAfter = 0

  constructor(scope: Scope, mount: string, key: string, theirs: Metadata) {
    this.#scope = scope
    this.#mount = mount
    this.#key = key
    this.#theirs = theirs
  }

  /** `written`: how many versions an earlier run wrote; undefined if the target has no such key. */
  async run(written?: number): Promise<void> {
    if (written === undefined && isSimple(this.#theirs)) {
      const data = await this.#dataOf(1)
      // one write, after which nothing is unfinished
      if (data !== undefined) return this.#write(1, { data, ends: '' })
    }
    await this.#runMarked(written ?? 0)
  }

  async #runMarked(written: number): Promise<void> {
    const { current_version: current, versions } = this.#theirs
    const kept = Math.max(1, ...Object.keys(versions).map((version) => current - Number(version) + 1))
    const unfinished = { custom_metadata: { [mark]: markText }, max_versions: kept }
    await this.#settings({ ...unfinished, delete_version_after: '0s' })
    const lost: number[] = []
    for (let version = 1; version <= current; version += 1) {
      const info = versions[version]
      const isLost = info === undefined || info.destroyed || isDeleted(info)
      if (isLost) lost.push(version)
      if (version <= written) continue
      const data = isLost ? undefined : await this.#dataOf(version)
      if (data === undefined && !isLost) this.vanished.push(version)
      await this.#write(version, data === undefined ? undefined : { data, ends: info?.deletion_time ?? '' })
    }
    lost.push(...this.vanished)
    for (let at = 0; at < lost.length; at += versionsPerRequest)
      await this.#scope.to.write(`${this.#mount}destroy/${this.#key}`, {
        versions: lost.slice(at, at + versionsPerRequest),
      })
    const { max_versions, cas_required, metadata_cas_required, delete_version_after } = this.#theirs
    await this.#settings({
      ...{ max_versions, cas_required, delete_version_after },
      ...(metadata_cas_required ? { metadata_cas_required } : {}),
      custom_metadata: this.#theirs.custom_metadata ?? {},
    })
  }

  /** Undefined if it is gone since its metadata was read. */
  async #dataOf(version: number): Promise<Body | null | undefined> {
    const read = await this.#scope.from.read(`${this.#mount}data/${this.#key}`, { version: String(version) })
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
    await this.#deleteAfter(shown?.ends ?? '')
    const body: Body = { data: shown === undefined ? {} : shown.data, options: { cas: version - 1 } }
    const { data } = await this.#scope.to.write(`${this.#mount}data/${this.#key}`, body)
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
    await this.#scope.to.write(`${this.#mount}metadata/${this.#key}`, settings)
  }
}
