import { changedLists, changedTerms, type RoleInput } from '../roles/role-input.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import type { RoleWork } from '../upstream-work.ts'
import { checkIssued } from './federated-role.ts'
import { checkFederatedClient, checkIdentityToken, checkRoomFor, checkSameType } from './role-checks.ts'
import { trustIntent } from './trust.ts'

/**
 * A role of a client that an administrator has prepared: nothing is called upstream, so the mount needs no
 * credential. Under the role's lock. Throws the first refusal; then nothing is stored.
 * docs/contract/cloud.md#federated-roles
 */
export async function writeStandaloneRole(
  name: string,
  { stored, sent }: { readonly stored: RoleRecord | undefined; readonly sent: RoleInput },
  work: RoleWork,
): Promise<void> {
  const { state } = work
  const { trust, ...changed } = changedTerms(stored, sent, state.names)
  const terms = { ...changed, application_client_id: '' }
  const role: RoleRecord = { ...terms, ...changedLists(terms, sent, state.names) }
  checkIssued(role, state.names)
  await checkFederatedClient(role, work)
  await checkSameType(name, stored, role, work)
  await checkRoomFor(stored, role, work)
  await checkIdentityToken(name, work)
  const lost = trust === undefined ? [] : [trustIntent(name, trust)]
  await state.intents.undoWith((entries) => state.putRole(name, role, entries), lost, trust?.tenant_id)
}
