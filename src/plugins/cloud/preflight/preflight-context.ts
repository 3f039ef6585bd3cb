import type { MountTokens } from '../../../core/identity-tokens/mount-tokens.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { EngineParts } from '../engine-parts.ts'
import type { MountState, ReadyUpstream } from '../mount-state.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { classify, type UpstreamCall, UpstreamError } from '../upstream/index.ts'

/** The outcome of one check; `detail` describes what was found. */
export type Finding = {
  readonly ok: boolean
  readonly detail: string
  /** What repairs it, if that depends on what was found. */
  readonly fix?: string | undefined
}

export type PreflightContext = Pick<EngineParts, 'clock' | 'pause'> & {
  readonly mount: Mount
  readonly mountTokens: Pick<MountTokens, 'check' | 'identityOf' | 'signingKeyOf'>
  readonly outbound: Pick<OutboundClient, 'connections' | 'direct' | 'exchange'>
  readonly state: MountState
  readonly upstream: ReadyUpstream
  readonly call: UpstreamCall
  /** Signs in as the root, once for all checks. */
  signIn(): Promise<void>
}

/** How many groups, applications or scopes a check looks up: the request has a time limit. */
export const maxLookups = 100

/** Whether a role grants its rights. One that names an existing application ignores its lists. */
export const grantsRights = (role: RoleRecord): boolean =>
  role.application_object_id === '' || role.persist_app

/** Ignores a refusal for lack of a permission, because the check names that permission anyway. */
export async function unlessDenied<T>(asked: Promise<T>, instead: T): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof UpstreamError) || classify(error).kind !== 'denied') throw error
    return instead
  }
}
