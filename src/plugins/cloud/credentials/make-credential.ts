import type { RoleRecord } from '../roles/role-record.ts'
import { checkIsNotOwn } from '../sign-in/own-clients.ts'
import type { IssueWork } from '../upstream-work.ts'
import { addPassword } from './add-password.ts'
import { issueServicePrincipal } from './issue-service-principal.ts'
import { type NewCredential, passwordIssued, secretEnd } from './new-credential.ts'

/** Makes a credential of a role upstream. Its intents undo it until they are settled. */
export const makeCredential = (name: string, role: RoleRecord, work: IssueWork): Promise<NewCredential> =>
  role.application_object_id === ''
    ? issueServicePrincipal(name, role, work)
    : issuePassword(name, role, work)

/**
 * Adds a password to the application that a role names or owns. docs/contract/cloud.md#passwords-on-an-application
 */
async function issuePassword(name: string, role: RoleRecord, work: IssueWork): Promise<NewCredential> {
  const { state, upstream, call, clock, secretSeconds } = work
  const { application_object_id: objectId, application_client_id: clientId } = role
  await checkIsNotOwn(clientId, state, call)
  const wish = {
    application_object_id: objectId,
    role: name,
    end: () => secretEnd(secretSeconds, clock.now()),
    intent: (display_name: string) =>
      ({ kind: 'password', application_object_id: objectId, client_id: clientId, display_name }) as const,
  }
  const { password, displayName, intent } = await addPassword(wish, work)
  return {
    ...passwordIssued(password.secretText),
    intents: [intent],
    data: {
      secret_type: 'static_service_principal',
      tenant_id: upstream.settings.tenantId,
      app_object_id: objectId,
      client_id: clientId,
      display_name: displayName,
      key_id: password.keyId,
      role: name,
      key_end_date: password.endDateTime,
      correlation_id: call.correlationId,
    },
  }
}
