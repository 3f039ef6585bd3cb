import type { RoleRecord } from '../roles/role-record.ts'
import type { IssueWork } from '../upstream-work.ts'
import { issuePassword } from './issue-password.ts'
import { issueServicePrincipal } from './issue-service-principal.ts'
import type { NewCredential } from './new-credential.ts'

/** Makes a credential of a role upstream. Its intents undo it until they are settled. */
export const makeCredential = (name: string, role: RoleRecord, work: IssueWork): Promise<NewCredential> =>
  role.application_object_id === ''
    ? issueServicePrincipal(name, role, work)
    : issuePassword(name, role, work)
