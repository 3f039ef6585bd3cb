import { createHash } from 'node:crypto'
import type { MountTokens } from '../../../core/identity-tokens/mount-tokens.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { identityTokenUse } from '../config/effective-settings.ts'
import type { IntentTo } from '../intents/intent.ts'
import { mayComeLate, undoAfterFailure, watchTries } from '../intents/undo-after-failure.ts'
import type { RoleRecord, Trust } from '../roles/role-record.ts'
import { trustPrefixOf } from '../upstream/directory/object-names.ts'
import { UpstreamError } from '../upstream/index.ts'
import type { RoleWork, UpstreamWork } from '../upstream-work.ts'
import { credentialTypeOf } from './federated-role.ts'

/** What a role's change means for the trust of its application in the role's identity tokens. */
export type TrustChange = {
  /** The trust that the role owns from its write on. */
  readonly trust: Trust | undefined
  /** The intent of a trust that was made, which that write settles. */
  readonly settles: readonly string[]
  /** The same if a try may still take effect: it is looked after once the role is stored. */
  readonly unsure: readonly string[]
  /** A former trust, to be removed after that write. */
  readonly removals: readonly TrustIntent[]
}

type TrustIntent = IntentTo<'federatedCredential'>

const digits = 20

/** The name of the trust for a role; `role` is lower-case. docs/contract/cloud.md#upstream-names */
export const trustName = (accessor: string, role: string): string =>
  trustPrefixOf(accessor) + createHash('sha256').update(role).digest('hex').slice(0, digits)

export const trustIntent = (
  role: string,
  { application_object_id, name }: Trust,
): TrustIntent & { readonly role: string } => ({
  kind: 'federatedCredential',
  role,
  application_object_id,
  name,
})

type TrustWork = Pick<UpstreamWork, 'state' | 'upstream' | 'call'> & {
  readonly mount: Mount
  readonly mountTokens: Pick<MountTokens, 'identityOf'>
}

/** Makes an application trust the identity tokens of a role. Throws upstream failures. */
export async function putTrust(
  {
    role,
    application_object_id: id,
    name,
  }: Pick<Trust, 'application_object_id' | 'name'> & { readonly role: string },
  { state, upstream, call, mount, mountTokens }: TrustWork,
): Promise<void> {
  const { issuer, subject } = await mountTokens.identityOf({ mount, role })
  const { audience } = identityTokenUse(await state.findConfig(), state.operator)
  await upstream.directory.putFederatedCredential(id, { name, issuer, subject, audiences: [audience] }, call)
}

/**
 * Makes the application trust the tokens of a federated role, again with each write of it. An intent is stored
 * before. Under the locks of the role and the trust. Throws upstream failures.
 * docs/contract/cloud.md#federated-roles
 */
export async function changeTrust(
  role: string,
  after: RoleRecord,
  work: UpstreamWork & RoleWork,
): Promise<TrustChange> {
  const { trust: former, application_object_id: applicationId } = after
  const removals = former === undefined ? [] : [trustIntent(role, former)]
  if (credentialTypeOf(after) !== 'federated') return { trust: undefined, settles: [], unsure: [], removals }
  const { state, upstream, clock } = work
  const { tenantId: tenant_id } = upstream.settings
  const name = trustName(state.accessor, role)
  const trust = { tenant_id, application_object_id: applicationId, name, since: clock.now() }
  const isKept =
    former?.name === name && former.application_object_id.toLowerCase() === applicationId.toLowerCase()
  const intent = trustIntent(role, trust)
  const ids = [await state.intents.record(intent, tenant_id)]
  const { call, isUnderway } = watchTries(work.call)
  try {
    await upstream.untilReplicated('putFederatedCredential', call, (again) =>
      putTrust(intent, { ...work, call: again }),
    )
  } catch (error) {
    await undoTrustAfterFailure(ids, error, isUnderway(), work)
    throw error
  }
  const made = isUnderway() ? { settles: [], unsure: ids } : { settles: ids, unsure: [] }
  return { trust, ...made, removals: isKept ? [] : removals }
}

/** After the failure of a call that changes a trust. `isUnderway`: one of its tries may still take effect. */
export async function undoTrustAfterFailure(
  intents: readonly string[],
  error: unknown,
  isUnderway: boolean,
  { state }: Pick<TrustWork, 'state'>,
): Promise<void> {
  const mayComeNow = isUnderway || mayComeLate(error)
  const made = mayComeNow || (error instanceof UpstreamError && error.inDoubt)
  await undoAfterFailure(state.intents, intents, { error, made, isUnderway: mayComeNow })
}
