import { refuse } from '../../../errors.ts'
import { effectiveLogin, identityTokenUse } from '../config/effective-settings.ts'
import { leasesOfRole } from '../roles/role-leases.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { ownClientIds } from '../sign-in/own-clients.ts'
import type { RoleWork } from '../upstream-work.ts'
import { credentialTypeOf } from './federated-role.ts'

export async function checkIdentityToken(
  role: string,
  { state, mount, mountTokens }: RoleWork,
): Promise<void> {
  const use = identityTokenUse(await state.findConfig(), state.operator)
  await mountTokens.check({ mount, role }, use)
}

/** A role whose credentials still live keeps their type. docs/contract/cloud.md#types-of-credentials */
export async function checkSameType(
  name: string,
  before: RoleRecord | undefined,
  after: RoleRecord,
  { state, leases }: Pick<RoleWork, 'state' | 'leases'>,
): Promise<void> {
  if (before === undefined || credentialTypeOf(before) === credentialTypeOf(after)) return
  if ((await leasesOfRole(name, state, leases)).length > 0)
    throw refuse('invalid', 'role has live leases; revoke them first')
}

/** Throws if a role that becomes federated is one too many. docs/limits.md#cloud-credentials */
export async function checkRoomFor(
  before: RoleRecord | undefined,
  after: RoleRecord,
  { state }: Pick<RoleWork, 'state'>,
): Promise<void> {
  const isFederated = (role: RoleRecord | undefined) =>
    role !== undefined && credentialTypeOf(role) === 'federated'
  if (!isFederated(after) || isFederated(before)) return
  const { federatedRoles: most } = state.limits
  if ((await state.roles()).filter(({ role }) => isFederated(role)).length >= most)
    throw refuse('invalid', `a mount can have at most ${most} federated roles`)
}

/** Throws if the pools of the mount become too large. docs/limits.md#cloud-credentials */
export async function checkRoomInPools(
  name: string,
  before: RoleRecord | undefined,
  { pool = 0 }: RoleRecord,
  { state }: Pick<RoleWork, 'state'>,
): Promise<void> {
  if (pool <= (before?.pool ?? 0)) return
  const { pooled: most } = state.limits
  const others = (await state.pooledRoles()).filter((one) => one.name !== name)
  if (others.reduce((sum, { role }) => sum + (role.pool ?? 0), pool) > most)
    throw refuse('invalid', `the pools of a mount can have at most ${most} credentials`)
}

const clientId = /^[\w.-]{1,128}$/

/** Checks the client of an administrator's that a role names. Throws the first refusal. */
export async function checkFederatedClient(
  { federated_client_id: id = '' }: RoleRecord,
  { state, call }: Pick<RoleWork, 'state' | 'call'>,
): Promise<void> {
  effectiveLogin(await state.findConfig(), state.operator)
  if (!clientId.test(id)) throw refuse('invalid', 'federated_client_id must be a client id')
  const owns = await ownClientIds(state, call, { fresh: true })
  if (owns.some((own) => own.toLowerCase() === id.toLowerCase()))
    throw refuse('invalid', 'federated_client_id must not refer to the application used by this engine')
}
