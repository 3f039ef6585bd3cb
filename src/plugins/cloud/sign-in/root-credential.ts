import type { ClientCertificate } from '../certificates/client-certificate.ts'

/**
 * What a mount signs in with; `type` is its effective `auth_type`. docs/contract/cloud.md#sign-in
 */
export type RootCredential =
  | { readonly type: 'root_creds'; readonly clientId: string; readonly secret: string }
  | { readonly type: 'certificate'; readonly clientId: string; readonly certificate: ClientCertificate }
  | {
      readonly type: 'plugin_wif'
      readonly clientId: string
      readonly audience: string
      /** Lifetime of an assertion, in seconds. */
      readonly ttl: number
    }
  | { readonly type: 'aks_wif'; readonly clientId: string; readonly tokenFile: string }
  | {
      readonly type: 'msi'
      /** Chooses a user-assigned identity. Empty: the identity of the machine itself. */
      readonly clientId: string
      /** Nothing is configured, so that the identity of the host is tried. */
      readonly isLastResort: boolean
    }
  | { readonly type: 'msi_wif'; readonly clientId: string; readonly managedIdentityClientId: string }
