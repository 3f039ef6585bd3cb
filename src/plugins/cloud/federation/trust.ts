import { createHash } from 'node:crypto'
import type { Intent } from '../intents/intent.ts'
import { mayComeLate, undoAfterFailure } from '../intents/undo-after-failure.ts'
import type { RoleRecord, Trust } from '../roles/role-record.ts'
import { UpstreamError } from '../upstream/index.ts'
import { trustPrefixOf } from '../upstream/object-names.ts'
import type { RoleWork, UpstreamWork } from '../upstream-work.ts'
import { credentialTypeOf } from './federated-role.ts'
import { identityTokenUse } from './identity-token-use.ts'

/** What a role's change means for the trust of its application in the role's identity tokens. */
export type TrustChange = {
  /** The trust that the role owns from its write on. */
  readonly trust: Trust | undefined
  /** The intent of a trust that was made, which that write settles. */
  readonly settles: readonly string[]
  /** A former trust, to be removed after that write. */
  readonly removals: readonly TrustRemoval[]
}

type TrustRemoval = Extract<Intent, { kind: 'federatedCredential' }>

const digits = 20

/** The name of the trust for a role; `role` is lower-case. docs/contract/cloud.md#upstream-names */
const trustName = (accessor: string, role: string): string =>
  trustPrefixOf(accessor) + createHash('sha256').update(role).digest('hex').slice(0, digits)

/** What removes the trust of a role. */
export const trustRemoval = (role: string, { application_object_id, name }: Trust): TrustRemoval => ({
  kind: 'federatedCredential',
  role,
  application_object_id,
  name,
})

/**
 * Makes the application of a federated role trust its identity tokens; each write of the role repeats that.
 * An intent is stored before. To be called within the role's turn. Throws upstream failures.
 * docs/contract/cloud.md#federated-roles
 */
export async function changeTrust(
  role: string,
  after: RoleRecord,
  applicationId: string,
  work: UpstreamWork & RoleWork,
): Promise<TrustChange> {
  const former = after.trust
  const removals = former === undefined ? [] : [trustRemoval(role, former)]
  if (credentialTypeOf(after) !== 'federated') return { trust: undefined, settles: [], removals }
  const { state, upstream, call, clock, mount, mountTokens } = work
  const { tenantId: tenant_id } = upstream.settings
  const name = trustName(state.accessor, role)
  const trust = { tenant_id, application_object_id: applicationId, name, since: clock.now() }
  const isKept =
    former?.name === name && former.application_object_id.toLowerCase() === applicationId.toLowerCase()
  const settles = isKept ? [] : [await state.intents.record(trustRemoval(role, trust), tenant_id)]
  try {
    const { issuer, subject } = await mountTokens.identityOf({ mount, role })
    const { audience } = identityTokenUse(await state.findConfig(), state.operator)
    const wanted = { name, issuer, subject, audiences: [audience] }
    await upstream.untilReplicated('putFederatedCredential', call, (again) =>
      upstream.directory.putFederatedCredential(applicationId, wanted, again),
    )
  } catch (error) {
    const isUnderway = mayComeLate(error)
    const made = isUnderway || (error instanceof UpstreamError && error.inDoubt)
    await undoAfterFailure(state.intents, settles, { error, made, isUnderway })
    throw error
  }
  return { trust, settles, removals: isKept ? [] : removals }
}
