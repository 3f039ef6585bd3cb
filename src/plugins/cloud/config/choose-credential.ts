import type { AuthType } from '../../../config/cloud.ts'
import type { ClientCertificate } from '../certificates/client-certificate.ts'

/** `type` is the effective `auth_type`. docs/contract/cloud.md#sign-in */
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

/** The effective values that a mount could sign in with. Empty: not set. */
export type SignInValues = {
  readonly authType: AuthType | ''
  readonly clientId: string
  readonly clientSecret: string
  readonly certificate: ClientCertificate | undefined
  /** A certificate that the operator uploads by hand, and that may not be accepted yet. */
  readonly madeCertificate: ClientCertificate | undefined
  readonly audience: string
  /** Seconds; 0 means the default. */
  readonly identityTokenTtl: number
  readonly managedIdentityClientId: string
  readonly tokenFile: string | undefined
  /** Whether the mount may sign in as the machine on which the server runs. */
  readonly isHostOffered: boolean
}

export const nothingConfigured =
  'no credential is configured: set client_secret, client_certificate or identity_token_audience'
export const clientIdRequired = 'client_id is required'
export const hostNotOffered = 'the identity of this host is not offered to this mount'
const defaultIdentityTokenTtl = 3600

export const isHostMode = (type: string): boolean => ['aks_wif', 'msi', 'msi_wif'].includes(type)

/** By `auth_type`; without one, by the first value that is set. docs/contract/cloud.md#sign-in */
export function chooseType(values: SignInValues): AuthType | undefined {
  if (values.authType !== '') return values.authType
  if (values.clientSecret !== '') return 'root_creds'
  if (values.certificate !== undefined) return 'certificate'
  if (values.audience !== '') return 'plugin_wif'
  if (!values.isHostOffered) return undefined
  return values.tokenFile === undefined ? 'msi' : 'aks_wif'
}

/** What a mount signs in with, or why it cannot. Pure. docs/contract/cloud.md#sign-in */
export function chooseCredential(values: SignInValues): RootCredential | { readonly refusal: string } {
  const { clientId, audience, tokenFile, isHostOffered } = values
  const type = chooseType(values)
  if (type === undefined) return { refusal: nothingConfigured }
  if (isHostMode(type) && !isHostOffered) return { refusal: hostNotOffered }
  if (type === 'msi') return { type, clientId, isLastResort: values.authType === '' }
  if (clientId === '') return { refusal: clientIdRequired }
  switch (type) {
    case 'root_creds': {
      const secret = values.clientSecret
      return secret === '' ? lacking(type, 'client_secret') : { type, clientId, secret }
    }
    case 'certificate': {
      const certificate = values.certificate ?? values.madeCertificate
      return certificate === undefined ? lacking(type, 'client_certificate') : { type, clientId, certificate }
    }
    case 'plugin_wif':
      return audience === ''
        ? lacking(type, 'identity_token_audience')
        : { type, clientId, audience, ttl: values.identityTokenTtl || defaultIdentityTokenTtl }
    case 'aks_wif':
      return tokenFile === undefined
        ? lacking(type, 'AZURE_FEDERATED_TOKEN_FILE')
        : { type, clientId, tokenFile }
    case 'msi_wif': {
      const { managedIdentityClientId } = values
      return managedIdentityClientId === ''
        ? lacking(type, 'managed_identity_client_id')
        : { type, clientId, managedIdentityClientId }
    }
  }
}

/** The refusal of a mode that lacks what it needs. */
export const requires = (type: AuthType, field: string): string => `auth_type ${type} requires ${field}`

const lacking = (type: AuthType, field: string) => ({ refusal: requires(type, field) })
