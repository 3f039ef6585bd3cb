import type { UpstreamCall } from '../upstream-error.ts'
import type { DirectoryApi } from './directory.ts'
import type { PasswordCredential } from './directory-answers.ts'

/** An application or a service principal, as the holder of passwords. */
export type PasswordHolder = {
  read(call: UpstreamCall): Promise<{ readonly passwordCredentials: readonly PasswordCredential[] }>
  remove(keyId: string, call: UpstreamCall): Promise<void>
}

export const applicationHolder = (id: string, directory: DirectoryApi): PasswordHolder => ({
  read: (call) => directory.getApplication(id, call),
  remove: (keyId, call) => directory.removeApplicationPassword(id, keyId, call),
})

export const principalHolder = (id: string, directory: DirectoryApi): PasswordHolder => ({
  read: (call) => directory.getServicePrincipal(id, call),
  remove: (keyId, call) => directory.removeServicePrincipalPassword(id, keyId, call),
})

/** The holder of a root secret: the application, if no service principal is named. */
export const holderOf = (
  intent: { readonly application_object_id: string; readonly service_principal_id?: string | undefined },
  directory: DirectoryApi,
): PasswordHolder =>
  intent.service_principal_id === undefined
    ? applicationHolder(intent.application_object_id, directory)
    : principalHolder(intent.service_principal_id, directory)
