import { findIssued } from './issued.ts'
import type { Intents } from './intents/intents.ts'
import { ownsApplication } from './intents/ownership.ts'
import { isGone } from './managed-application.ts'
import type { LeaseLookup } from './issued.ts'
import type { MountState } from './mount-state.ts'
import type { Application, UpstreamCall } from './upstream/index.ts'
import { orRefuse } from './upstream-work.ts'
import { tagPrefixOf } from './upstream-names.ts'

/** What a look through the directory has found that belongs to nobody. */
export type ReapedObject = { kind: 'app'; id: string; name: string; created: string | null; reason: string }

export type ReapParts = {
  readonly state: MountState
  readonly intents: Pick<Intents, 'all'>
  readonly leases: LeaseLookup
  readonly call: UpstreamCall
}

/**
 * Compares the directory with the records: applications with this mount's tag that no live lease, no role and no work under way owns. They are deleted
 * unless `dryRun`, and may be restored among the deleted for 30 days. Throws what the caller is told. Issue "Durable intent".
 */
export async function reap({ dryRun }: { dryRun: boolean }, parts: ReapParts): Promise<{ objects: ReapedObject[]; deleted: number }> {
  const { state, call } = parts
  const upstream = await state.upstream()
  const orphans = await orRefuse(
    'error listing applications',
    findOrphans(parts, () => upstream.directory.findApplications({ tagPrefix: tagPrefixOf(state.accessor) }, call)),
  )
  let deleted = 0
  if (!dryRun) {
    for (const { id } of orphans) {
      if (await orRefuse('error deleting application', isDeleted(upstream.directory.deleteApplication(id, call)))) deleted += 1
    }
  }
  return {
    objects: orphans.map(({ id, displayName, createdDateTime }) => ({
      kind: 'app',
      id,
      name: displayName,
      created: createdDateTime ?? null,
      reason,
    })),
    deleted,
  }
}

const reason = 'no lease, role or request owns it'

/**
 * The directory is read first, then what is meant, then the leases: what was made before the first and is owned now is seen by one of the others, since a
 * lease takes the place of its intent in one step.
 */
async function findOrphans({ state, intents, leases }: ReapParts, listed: () => Promise<Application[]>): Promise<Application[]> {
  const prefix = tagPrefixOf(state.accessor)
  const candidates = (await listed()).filter(({ tags }) => tags.some((tag) => tag.startsWith(prefix)))
  const meant = new Set((await intents.all()).flatMap(({ intent }) => (intent.kind === 'app' ? [intent.tag] : [])))
  const unmeant = candidates.filter(({ tags }) => !tags.some((tag) => meant.has(tag)))
  const leased = new Set((await findIssued(state, leases)).map(({ issued }) => issued.app_object_id))
  const orphans: Application[] = []
  for (const application of unmeant) {
    if (!leased.has(application.id) && !(await ownsApplication(application.id, { state, leases }, application.appId))) orphans.push(application)
  }
  return orphans
}

async function isDeleted(deletion: Promise<void>): Promise<boolean> {
  try {
    await deletion
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    return false
  }
}
