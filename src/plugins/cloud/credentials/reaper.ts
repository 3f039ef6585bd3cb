import { z } from 'zod'
import type { Servers } from '../../../core/servers/servers.ts'
import { removeUnownedTrust, type UnownedTrust, unownedTrusts } from '../federation/unowned-trusts.ts'
import { type DebrisObject, debrisObjects } from '../intents/debris.ts'
import { rightsRemovals } from '../intents/intent.ts'
import { ownsApplication } from '../intents/ownership.ts'
import type { StoredIntent } from '../intents/stored-intents.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import {
  type CredentialRecord,
  credentialRemoval,
  findForceRevoked,
  findLeased,
  type LeaseLookup,
  leaseOf,
} from '../records/credential-record.ts'
import { tagPrefixOf } from '../upstream/directory/object-names.ts'
import type { Application, UpstreamCall } from '../upstream/index.ts'
import { unlessGone, wasRemoved } from '../upstream/removal.ts'
import { otherTenantReason } from '../upstream/tenant.ts'
import { forEachOf, orRefuse } from '../upstream-work.ts'

export const reapedObject = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  created: z.string().nullable(),
  reason: z.string(),
})
export type ReapedObject = z.output<typeof reapedObject>

type ReapParts = {
  readonly state: MountState
  readonly leases: LeaseLookup
  readonly servers: Pick<Servers, 'confirmCopies'>
  readonly call: UpstreamCall
}

type Reaping = ReapParts & { readonly upstream: ReadyUpstream }

type Unowned = {
  /** Applications with this mount's tag that no lease, role or running request owns. */
  readonly orphans: readonly Application[]
  /** Credentials whose leases were revoked by force. */
  readonly forceRevoked: readonly CredentialRecord[]
  /** Those among them that are passwords and still exist upstream. */
  readonly passwords: readonly PasswordRecord[]
  /** Trusts with this mount's name that no role owns. */
  readonly trusts: readonly UnownedTrust[]
  readonly debris: readonly DebrisObject[]
}

/**
 * Compares the directory with the records, and deletes what has no owner unless `dryRun`; applications can be
 * restored for 30 days. docs/contract/cloud.md#reaping
 */
export async function reap(
  { dryRun }: { dryRun: boolean },
  parts: ReapParts,
): Promise<{ objects: ReapedObject[]; deleted: number }> {
  const reaping = { ...parts, upstream: await parts.state.upstream() }
  const unowned = await findUnowned(reaping)
  const deleted = dryRun ? 0 : await deleteUnowned(unowned, reaping)
  return { objects: reapedObjects(unowned), deleted }
}

async function findUnowned(reaping: Reaping): Promise<Unowned> {
  const { state, upstream, call, leases } = reaping
  const orphans = await orRefuse(
    'error listing applications',
    findOrphans(reaping, () =>
      upstream.directory.findApplications({ tagPrefix: tagPrefixOf(state.accessor) }, call),
    ),
  )
  // objects in another tenant cannot be seen from here
  const forceRevoked = (await findForceRevoked(state, leases)).filter(
    (record) => otherTenantReason(record, upstream) === undefined,
  )
  const passwords = await orRefuse('error reading application', existingPasswords(forceRevoked, reaping))
  const trusts = await orRefuse('error listing federated credentials', unownedTrusts(state, upstream, call))
  return { orphans, forceRevoked, passwords, trusts, debris: debrisObjects(await state.intents.debris()) }
}

/** How long the debris may take that is tried at once. */
const undoMs = 30_000

/** Returns the number of deleted objects. A failure does not keep the other objects from being deleted. */
async function deleteUnowned(
  { orphans, forceRevoked, passwords, trusts, debris }: Unowned,
  reaping: Reaping,
): Promise<number> {
  const { state, upstream, call } = reaping
  let deleted = 0
  const counted = async (removal: Promise<void>) => {
    if (await wasRemoved(removal)) deleted += 1
  }
  const deletions = forEachOf(orphans, ({ id }) => counted(upstream.directory.deleteApplication(id, call)))
  const removals = forEachOf(passwords, ({ app_object_id: objectId, key_id: keyId }) =>
    state.withApplicationLock(objectId, () =>
      counted(upstream.directory.removeApplicationPassword(objectId, keyId, call)),
    ),
  )
  const distrusts = forEachOf(trusts, async (trust) => {
    if (await removeUnownedTrust(trust, reaping)) deleted += 1
  })
  await Promise.allSettled([deletions, removals, distrusts])
  await orRefuse('error deleting application', deletions)
  await orRefuse('error removing credentials', removals)
  await orRefuse('error deleting federated credential', distrusts)
  for (const record of forceRevoked) await forget(record, upstream.settings.tenantId, reaping)
  const signals = [AbortSignal.timeout(undoMs), ...(call.signal === undefined ? [] : [call.signal])]
  const left = debrisObjects(await state.intents.undoAll(AbortSignal.any(signals)))
  const isLeft = ({ kind, id, name }: DebrisObject) =>
    left.some((one) => one.kind === kind && one.id === id && one.name === name)
  return deleted + debris.filter((object) => !isLeft(object)).length
}

const reapedObjects = ({ orphans, passwords, trusts, debris }: Unowned): ReapedObject[] => [
  ...orphans.map(({ id, displayName, createdDateTime }) => ({
    kind: 'app',
    id,
    name: displayName,
    created: createdDateTime ?? null,
    reason: 'no lease, role or request owns it',
  })),
  ...passwords.map(({ key_id, made_name }) => ({
    kind: 'password',
    id: key_id,
    name: made_name,
    created: null,
    reason: 'its lease was revoked by force',
  })),
  ...trusts.map(({ applicationId, name }) => ({
    kind: 'federatedCredential',
    id: applicationId,
    name,
    created: null,
    reason: 'no role owns it',
  })),
  ...debris.map(({ kind, id, name, since, error }) => ({
    kind,
    id,
    name,
    created: since,
    reason: `it is debris: ${error === '' ? 'not tried yet' : error}`,
  })),
]

type PasswordRecord = CredentialRecord & { readonly key_id: string }

/** The passwords that still exist. They carry no tag, so only the records tell whose they are. */
async function existingPasswords(
  records: readonly CredentialRecord[],
  { call, upstream }: Reaping,
): Promise<PasswordRecord[]> {
  const passwords = records.flatMap((record) =>
    record.key_id === undefined ? [] : [{ ...record, key_id: record.key_id }],
  )
  const existing = new Set<string>()
  for (const id of new Set(passwords.map(({ app_object_id }) => app_object_id))) {
    const application = await unlessGone(upstream.directory.getApplication(id, call))
    for (const { keyId } of application?.passwordCredentials ?? []) existing.add(`${id}/${keyId}`)
  }
  return passwords.filter(({ app_object_id, key_id }) => existing.has(`${app_object_id}/${key_id}`))
}

/**
 * Deletes the record of a credential without a lease. Role assignments outlive their application: intents replace
 * it.
 */
async function forget(record: CredentialRecord, tenant: string, { state, leases }: Reaping): Promise<void> {
  const { client_id: clientId, role_assignment_ids: assignment_ids } = record
  if (
    record.key_id === undefined &&
    (await ownsApplication(record.app_object_id, { state, leases }, clientId))
  )
    return
  const left = rightsRemovals(undefined, { assignment_ids })
  const removal = credentialRemoval(clientId, leaseOf(record))
  await state.intents.undoWith((entries) => state.view.write([removal, ...entries]), left, tenant)
}

async function notIntended(applications: readonly Application[], { intents }: MountState) {
  const tagsOf = ({ intent }: StoredIntent) => (intent.kind === 'app' ? [intent.tag] : [])
  const intended = new Set((await intents.all()).flatMap(tagsOf))
  return applications.filter(({ tags }) => !tags.some((tag) => intended.has(tag)))
}

async function notPooled(applications: readonly Application[], { pool }: MountState) {
  const pooled = new Set((await pool.all()).map(({ member }) => member.data.app_object_id))
  return applications.filter(({ id }) => !pooled.has(id))
}

/**
 * Reads the directory, then where an application may be, in the order in which it moves on, one write each time: from an
 * intent to a pool, to an intent again when it is handed out, and to its lease. So what was listed and has an owner now is
 * found in one of them.
 */
async function findOrphans(
  { state, leases, servers }: Reaping,
  listApplications: () => Promise<Application[]>,
): Promise<Application[]> {
  const prefix = tagPrefixOf(state.accessor)
  const candidates = (await listApplications()).filter(({ tags }) =>
    tags.some((tag) => tag.startsWith(prefix)),
  )
  const unintended = await notIntended(await notPooled(await notIntended(candidates, state), state), state)
  // another server may just have stored a role that replaces an intent
  await servers.confirmCopies()
  const leased = new Set((await findLeased(state, leases)).map(({ record }) => record.app_object_id))
  const orphans: Application[] = []
  for (const application of unintended) {
    if (
      !leased.has(application.id) &&
      !(await ownsApplication(application.id, { state, leases }, application.appId))
    )
      orphans.push(application)
  }
  return orphans
}
