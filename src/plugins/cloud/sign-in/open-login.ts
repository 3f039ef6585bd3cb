import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import { hasEnded } from '../certificates/client-certificate.ts'
import { nothingConfigured, type RootCredential } from '../config/choose-credential.ts'
import type { Environment } from '../upstream/environments.ts'
import type { Exchange, FreshToken, Proof } from '../upstream/transport.ts'
import { noMetadata, type UpstreamCall, UpstreamError } from '../upstream/upstream-error.ts'
import { certificateProof, tokenInFile } from './assertions.ts'
import { explained } from './explain.ts'
import type { Metadata, WantedIdentity } from './metadata.ts'

/** Signs in once with the root credential, never from a cache. Throws `UpstreamError` and refusals. */
export type Login = (scope: string, call: UpstreamCall) => Promise<FreshToken>

export type LoginParts = {
  readonly exchange: Exchange
  readonly metadata: Metadata
  readonly environment: Environment
  readonly clock: Clock
  /** How far the clock of the login service is ahead of ours; undefined before its first answer. */
  clockOffsetMs(): number | undefined
  readonly identifiers: Pick<Random, 'uuid'>
  /** Called after each successful sign-in, which waits for it. */
  accepted?(credential: RootCredential): Promise<void>
  /** Signs a token of the mount for an audience; `ttl` is in seconds. */
  signIdentityToken(audience: string, ttl: number): Promise<string>
}

/** The adapter for this kind of credential. Makes no request. docs/contract/cloud.md#sign-in */
export function openLogin(credential: RootCredential, parts: LoginParts): Login {
  if (credential.type === 'msi') return managedIdentityLogin(credential, parts)
  const { clientId } = credential
  const proof = proofOf(credential, parts)
  return async (scope, call) => {
    let sent: string | undefined
    const noted: Proof =
      'secret' in proof ? proof : { assertion: async (...given) => (sent = await proof.assertion(...given)) }
    const token = await parts.exchange({ clientId, proof: noted }, scope, call).catch((error: unknown) => {
      const now = parts.clock.now()
      const endedAt = endOf(credential, now)
      const clockOffsetMs = parts.clockOffsetMs()
      const isOwn = credential.type === 'plugin_wif'
      throw explained(error, { clientId, assertion: sent, isOwn, now, endedAt, clockOffsetMs })
    })
    await parts.accepted?.(credential)
    return token
  }
}

/** When the certificate ended, if it has. */
const endOf = (credential: RootCredential, now: number): string | undefined =>
  credential.type === 'certificate' && hasEnded(credential.certificate, now)
    ? credential.certificate.expiration
    : undefined

function proofOf(credential: Exclude<RootCredential, { type: 'msi' }>, parts: LoginParts): Proof {
  switch (credential.type) {
    case 'root_creds':
      return { secret: credential.secret }
    case 'certificate':
      return certificateProof(credential.clientId, credential.certificate, parts)
    case 'plugin_wif':
      return { assertion: () => parts.signIdentityToken(credential.audience, credential.ttl) }
    case 'aks_wif':
      return { assertion: () => tokenInFile(credential.tokenFile) }
    case 'msi_wif': {
      const wanted = wantedIdentity(credential, parts.environment)
      return { assertion: async (_endpoint, call) => (await parts.metadata(wanted, call)).token }
    }
  }
}

const defaultScope = /\/\.default$/

/** What the metadata service is asked for; `scope` is that of the access token. */
export const wantedIdentity = (
  credential: Extract<RootCredential, { type: 'msi' | 'msi_wif' }>,
  { identityTokenAudience, directoryScope }: Environment,
  scope = directoryScope,
): WantedIdentity =>
  credential.type === 'msi'
    ? { resource: scope.replace(defaultScope, ''), clientId: credential.clientId }
    : { resource: identityTokenAudience, clientId: credential.managedIdentityClientId }

/** Without a metadata service, an identity that was only the last resort is none. */
export function missingIdentity(error: unknown, credential: RootCredential): unknown {
  const isLastResort = credential.type === 'msi' && credential.isLastResort
  return isLastResort && error instanceof UpstreamError && error.code === noMetadata
    ? error.with({ message: nothingConfigured, cause: error })
    : error
}

const managedIdentityLogin =
  (credential: Extract<RootCredential, { type: 'msi' }>, { metadata, environment }: LoginParts): Login =>
  (scope, call) =>
    metadata(wantedIdentity(credential, environment, scope), call).catch((error: unknown) => {
      throw missingIdentity(error, credential)
    })
