import { debrisObjects } from '../intents/debris.ts'
import { findForgotten, findIssued, type Issued, issuedRemoval } from './credential-record.ts'
import type { Intent } from '../intents/intent.ts'
import type { Intents } from '../intents/intents.ts'
import { ownsApplication } from '../intents/ownership.ts'
import { isGone, wasRemoved } from '../upstream/removal.ts'
import type { LeaseLookup } from './credential-record.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import type { Application, UpstreamCall } from '../upstream/index.ts'
import { otherTenantReason } from '../upstream/tenant.ts'
import { forEachOf, orRefuse } from '../upstream-work.ts'
import { tagPrefixOf } from '../upstream/object-names.ts'

/** What a look through the directory has found that belongs to nobody. */
export type ReapedObject = { kind: string; id: string; name: string; created: string | null; reason: string }

export type ReapParts = {
  readonly state: MountState
  readonly intents: Pick<Intents, 'all' | 'debris' | 'undoAll'>
  readonly leases: LeaseLookup
  readonly call: UpstreamCall
}

/**
 * Compares the directory with the records: applications with this mount's tag that no live lease, no role and
 * no work under way owns, and what leases owned that were forced out of the records. They are deleted unless
 * `dryRun`; applications may be restored among the deleted for 30 days. Throws what the caller is told. Issue
 * "Durable intent".
 */
export async function reap(
  { dryRun }: { dryRun: boolean },
  parts: ReapParts,
): Promise<{ objects: ReapedObject[]; deleted: number }> {
  const { state, call } = parts
  const upstream = await state.upstream()
  const orphans = await orRefuse(
    'error listing applications',
    findOrphans(parts, () =>
      upstream.directory.findApplications({ tagPrefix: tagPrefixOf(state.accessor) }, call),
    ),
  )
  // of what is in another tenant nothing can be told from here
  const forgotten = (await findForgotten(state, parts.leases)).filter(
    (row) => otherTenantReason(row, upstream) === undefined,
  )
  const passwords = await orRefuse(
    'error reading application',
    forgottenPasswords(forgotten, { ...parts, upstream }),
  )
  const debris = debrisObjects(await parts.intents.debris())
  let deleted = 0
  if (!dryRun) {
    const counted = async (removal: Promise<void>) => {
      if (await wasRemoved(removal)) deleted += 1
    }
    // one that cannot be removed does not keep the others
    const deletions = forEachOf(orphans, ({ id }) => counted(upstream.directory.deleteApplication(id, call)))
    const removals = forEachOf(passwords, ({ app_object_id: objectId, key_id: keyId }) =>
      state.inApplicationTurn(objectId, () =>
        counted(upstream.directory.removeApplicationPassword(objectId, keyId, call)),
      ),
    )
    await Promise.allSettled([deletions, removals])
    await orRefuse('error deleting application', deletions)
    await orRefuse('error removing credentials', removals)
    for (const row of forgotten) await forget(row, upstream.settings.tenantId, parts)
    const left = debrisObjects(
      await parts.intents.undoAll(
        AbortSignal.any([
          AbortSignal.timeout(undoingMs),
          ...(call.signal === undefined ? [] : [call.signal]),
        ]),
      ),
    )
    deleted += debris.filter(
      ({ kind, id, name }) => !left.some((one) => one.kind === kind && one.id === id && one.name === name),
    ).length
  }
  return {
    objects: [
      ...orphans.map(({ id, displayName, createdDateTime }) => ({
        kind: 'app' as const,
        ...{ id, name: displayName, created: createdDateTime ?? null, reason },
      })),
      ...passwords.map(({ key_id, made_name }) => ({
        kind: 'password' as const,
        ...{ id: key_id, name: made_name, created: null, reason: 'its lease was forced out of the records' },
      })),
      ...debris.map(({ kind, id, name, since, error }) => ({
        ...{
          kind,
          id,
          name,
          created: since,
          reason: `it is debris: ${error === '' ? 'not tried yet' : error}`,
        },
      })),
    ],
    deleted,
  }
}

/** For what is tried at once. */
const undoingMs = 30_000
const reason = 'no lease, role or request owns it'

type ForgottenPassword = Issued & { readonly key_id: string }

/** Those that are still there. They carry no tag: the records alone tell whose they are. */
async function forgottenPasswords(
  forgotten: readonly Issued[],
  { call, upstream }: ReapParts & { upstream: ReadyUpstream },
): Promise<ForgottenPassword[]> {
  const rows = forgotten.flatMap((row) => (row.key_id === undefined ? [] : [{ ...row, key_id: row.key_id }]))
  const there = new Set<string>()
  for (const id of new Set(rows.map(({ app_object_id }) => app_object_id))) {
    const application = await upstream.directory.getApplication(id, call).catch((error: unknown) => {
      if (!isGone(error)) throw error
    })
    for (const { keyId } of application?.passwordCredentials ?? []) there.add(`${id}/${keyId}`)
  }
  return rows.filter(({ app_object_id, key_id }) => there.has(`${app_object_id}/${key_id}`))
}

/**
 * The row of a lease that is gone ends with what its application does not take along: assignments, removed in
 * the background until they are.
 */
async function forget(row: Issued, tenant: string, { state, leases }: ReapParts): Promise<void> {
  const { client_id: clientId, role_assignment_ids: assignments = [] } = row
  if (row.key_id === undefined && (await ownsApplication(row.app_object_id, { state, leases }, clientId)))
    return
  const left: Intent[] =
    assignments.length === 0 ? [] : [{ kind: 'roleAssignments', assignment_ids: assignments }]
  const recorded = state.intents.recordEntries(left, tenant)
  try {
    await state.view.write([
      issuedRemoval(clientId, { namespace: row.namespace, id: row.lease_id }),
      ...recorded.entries,
    ])
  } finally {
    // a failed write may be stored
    state.intents.undo(recorded.ids)
  }
}

/**
 * The directory is read first, then what is meant, then the leases: what was made before the first and is
 * owned now is seen by one of the others, since a lease takes the place of its intent in one step.
 */
async function findOrphans(
  { state, intents, leases }: ReapParts,
  listed: () => Promise<Application[]>,
): Promise<Application[]> {
  const prefix = tagPrefixOf(state.accessor)
  const candidates = (await listed()).filter(({ tags }) => tags.some((tag) => tag.startsWith(prefix)))
  const meant = new Set(
    (await intents.all()).flatMap(({ intent }) => (intent.kind === 'app' ? [intent.tag] : [])),
  )
  const unmeant = candidates.filter(({ tags }) => !tags.some((tag) => meant.has(tag)))
  const leased = new Set((await findIssued(state, leases)).map(({ issued }) => issued.app_object_id))
  const orphans: Application[] = []
  for (const application of unmeant) {
    if (
      !leased.has(application.id) &&
      !(await ownsApplication(application.id, { state, leases }, application.appId))
    )
      orphans.push(application)
  }
  return orphans
}
