import { z } from 'zod'
import { bodyShape } from './remote-server.ts'
import { likeness } from './scope.ts'

export const metadataShape = z.object({
  current_version: z.number(),
  max_versions: z.number().default(0),
  cas_required: z.boolean().default(false),
  metadata_cas_required: z.boolean().default(false),
  delete_version_after: z.string().default('0s'),
  current_metadata_version: z.number().default(0),
  custom_metadata: bodyShape.nullish(),
  versions: z.record(z.string(), z.object({ deletion_time: z.string(), destroyed: z.boolean() })),
})
export type Metadata = z.infer<typeof metadataShape>
type VersionInfo = Metadata['versions'][string]

/** A version that the target does not have as the source does. */
export type Loss = { readonly version: number; readonly reason: string }

export const deletedThere = 'it is deleted, so the source does not show it'
export const endsEarlier = 'the target deletes it earlier: delete_version_after of its mount is shorter'
const destroyedHere =
  'the target has destroyed it: delete the metadata of the secret on the target, and import again'

/** The end of an imported version is rounded, and counts from when it is written. */
const slackMs = 60_000
const endOf = ({ deletion_time: time }: VersionInfo) =>
  time === '' ? Number.POSITIVE_INFINITY : Date.parse(time)

const isDeleted = (info: VersionInfo) => endOf(info) <= Date.now()
export const isLive = (info: VersionInfo | undefined) =>
  info !== undefined && !info.destroyed && !isDeleted(info)

export const deletedVersions = ({ versions }: Metadata): number[] =>
  Object.entries(versions).flatMap(([version, info]) =>
    isDeleted(info) && !info.destroyed ? [Number(version)] : [],
  )

/** The versions up to `last` that the source has, and that an earlier import did not bring over. */
export const missingVersions = (theirs: Metadata, ours: Metadata, last: number): Loss[] =>
  sharedVersions(theirs, ours, last).flatMap(([version, info, same]) => {
    if (info.destroyed) return []
    if (same.destroyed) return [{ version, reason: isDeleted(info) ? deletedThere : destroyedHere }]
    const endsTooEarly = isLive(info) && isLive(same) && endOf(same) < endOf(info) - slackMs
    return endsTooEarly ? [{ version, reason: endsEarlier }] : []
  })

/** The versions up to `last` that the source has deleted or destroyed, and the target has not. */
export function endedVersions(theirs: Metadata, ours: Metadata, last: number) {
  const shared = sharedVersions(theirs, ours, last)
  const of = (isEnded: (info: VersionInfo, same: VersionInfo) => boolean) =>
    shared.filter(([, info, same]) => isEnded(info, same)).map(([version]) => version)
  return {
    deleted: of((info, same) => !info.destroyed && isDeleted(info) && isLive(same)),
    destroyed: of((info, same) => info.destroyed && !same.destroyed),
  }
}

/** How the target's key differs from the source's, as texts: what an update brings over, and what it does not. */
export function stateDifferences(
  theirs: Metadata,
  ours: Metadata,
): { readonly brought: string[]; readonly left: string[] } {
  const last = Math.min(theirs.current_version, ours.current_version)
  const { deleted, destroyed } = endedVersions(theirs, ours, last)
  const deletedHere = endedVersions(ours, theirs, last).deleted
  const settings = likeness(settingsOf(theirs), settingsOf(ours))
  return {
    brought: [
      ...(ours.current_version < theirs.current_version ? [versionsText(theirs, ours)] : []),
      ...said('the source has deleted version', deleted),
      ...said('the source has destroyed version', destroyed),
      ...(typeof settings === 'string' ? [settings] : []),
    ],
    left: [
      ...(ours.current_version > theirs.current_version ? [versionsText(theirs, ours)] : []),
      ...said('the target has deleted version', deletedHere),
    ],
  }
}

const versionsText = (theirs: Metadata, ours: Metadata) =>
  `the source has version ${theirs.current_version}, the target ${ours.current_version}`

const said = (text: string, versions: readonly number[]) =>
  versions.length === 0 ? [] : [`${text} ${versions.join(', ')}`]

function sharedVersions(
  theirs: Metadata,
  ours: Metadata,
  last: number,
): [number, VersionInfo, VersionInfo][] {
  return Object.entries(theirs.versions).flatMap(([version, info]) => {
    const same = ours.versions[version]
    return same === undefined || Number(version) > last ? [] : [[Number(version), info, same]]
  })
}

/** The settings of a key, as they are written. */
export const settingsOf = (metadata: Metadata) => ({
  max_versions: metadata.max_versions,
  cas_required: metadata.cas_required,
  metadata_cas_required: metadata.metadata_cas_required,
  delete_version_after: metadata.delete_version_after,
  custom_metadata: metadata.custom_metadata ?? {},
})
