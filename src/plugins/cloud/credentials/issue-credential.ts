import { z } from 'zod'
import type { Call } from '../../../http/resource.ts'
import type { Caller } from '../../../core/access.ts'
import type { LeasedSecret } from '../../../core/leases/lease.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { mountTtl, type TtlBounds } from '../../../core/tokens/lifetime.ts'
import { fail, refuse } from '../../../errors.ts'
import { durationField, stringField } from '../../../lib/fields.ts'
import type { CreationSlots } from './creation-slots.ts'
import { issueServicePrincipal } from './issue-service-principal.ts'
import { issuedEntry } from './credential-record.ts'
import { type MadeCredential, secretLifetime } from './new-credential.ts'
import { engineOptions } from '../mount-options.ts'
import type { MountState } from '../mount-state.ts'
import { type Readiness, type ReadyParts, untilReady } from './readiness.ts'
import { issueTerms } from './lease-terms.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { issuePassword } from './issue-password.ts'
import type { UpstreamWork } from '../upstream-work.ts'

/** How a credential is to be answered. What is not sent is as the mount's options say. */
export const credentialFields = z.object({
  wait: stringField
    .optional()
    .describe('`ready`: the credential is proven before it is answered; `none`: it is not'),
  wait_limit: durationField.optional().describe('With `wait=ready`: for how long at most'),
  on_timeout: stringField.optional().describe('`return` or `revoke` a credential that is not ready by then'),
})

type CredentialInput = z.output<typeof credentialFields>

export type CredentialParts = Omit<ReadyParts, 'upstream' | 'call'> & {
  readonly state: MountState
  readonly slots: CreationSlots
  readonly requestLimitMs: number
  /** TTLs of a mount that is not tuned. */
  readonly systemTtl: TtlBounds
}

export type CredentialRequest = {
  readonly call: Pick<Call, 'requestId'>
  readonly mount: Mount
  readonly caller: Caller | undefined
  /** As typed. */
  readonly role: string
  readonly input: CredentialInput
  /** `listener` is called when the client is gone; call what comes back when nobody listens any longer. */
  whenGone(listener: () => void): () => void
}

export type CredentialReply = {
  readonly data: { client_id: string; client_secret: string }
  readonly warnings: string[]
  readonly secret: LeasedSecret
}

/**
 * Makes one credential; the request's own id goes with it everywhere: in the tag upstream, with the lease, in
 * the log. docs/contract/cloud.md#credentials
 */
export async function makeCredential(
  request: CredentialRequest,
  parts: CredentialParts,
): Promise<CredentialReply> {
  const { mount, input } = request
  const readiness = readinessOf(mount, input)
  const { mostInFlight } = engineOptions(mount)
  // waiting for a turn is part of the request's time
  const deadline = parts.clock.now() + parts.requestLimitMs
  const gone = new AbortController()
  const isOver = request.whenGone(() => gone.abort())
  try {
    const { made, role, work } = await parts.slots.within(mostInFlight, parts.requestLimitMs, () => {
      checkIsWaitedFor(gone.signal)
      return makeNow(request, deadline, parts)
    })
    // here nothing is made any more: others may have their turn
    try {
      const proving = { ...work, call: { ...work.call, signal: gone.signal } }
      const warnings = readiness === undefined ? [] : [await proven(made, readiness, proving)]
      checkIsWaitedFor(gone.signal)
      const data = { client_id: made.data.client_id, client_secret: made.secret }
      return { data, warnings, secret: leased(made, role, request.caller, work) }
    } catch (error) {
      work.state.intents.undo(made.intents)
      throw error
    }
  } finally {
    isOver()
  }
}

/**
 * What nobody would get is not made, or does not stay. What has begun goes on: a call that is cut off leaves
 * unknown what it did.
 */
function checkIsWaitedFor(gone: AbortSignal): void {
  if (gone.aborted) throw fail('upstream', 'the client is gone: context canceled')
}

type Made = { readonly made: MadeCredential; readonly role: RoleRecord; readonly work: ReadyParts }

async function makeNow(
  { call: { requestId }, mount, role: typed }: CredentialRequest,
  deadline: number,
  parts: CredentialParts,
): Promise<Made> {
  const { state } = parts
  const upstream = await state.upstream()
  const name = typed.toLowerCase()
  const role = await state.findRole(name)
  if (role === undefined) throw refuse('invalid', `role '${name}' does not exist`)
  const options = engineOptions(mount)
  const { serviceManagementReference } = options
  const secretSeconds = secretLifetime(role, options, mountTtl(mount.config, parts.systemTtl))
  const work = {
    ...parts,
    upstream,
    call: { deadline, correlationId: requestId },
    serviceManagementReference,
    secretSeconds,
  }
  const made = await (role.application_object_id === ''
    ? issueServicePrincipal(name, role, work)
    : issuePassword(name, role, work))
  return { made, role, work }
}

function readinessOf(mount: Mount, { wait, wait_limit, on_timeout }: CredentialInput): Readiness | undefined {
  const options = engineOptions(mount)
  if (wait !== undefined && wait !== 'ready' && wait !== 'none')
    throw refuse('invalid', "wait must be 'ready' or 'none'")
  if (on_timeout !== undefined && on_timeout !== 'return' && on_timeout !== 'revoke')
    throw refuse('invalid', "on_timeout must be 'return' or 'revoke'")
  if ((wait ?? options.wait) !== 'ready') return undefined
  return {
    limitMs: wait_limit === undefined ? options.waitLimitMs : wait_limit * 1000,
    onTimeout: on_timeout ?? options.onTimeout,
  }
}

/**
 * What there is to say of a credential that was waited for. Throws when it is to go because it was not ready
 * in time.
 */
async function proven(
  { data, secret }: MadeCredential,
  { limitMs, onTimeout }: Readiness,
  parts: ReadyParts,
): Promise<string> {
  const seconds = await untilReady(data.client_id, secret, limitMs, parts)
  if (seconds !== undefined) return `credentials were ready after ${seconds} s`
  if (onTimeout === 'return') return 'credentials may take a short time to become usable'
  throw fail('upstream', 'credentials were not ready in time and are revoked')
}

/** The intents end, and who asked is noted, in the step that stores the lease. */
function leased(
  { data, intents }: MadeCredential,
  role: RoleRecord,
  caller: Caller | undefined,
  { state, clock }: Pick<UpstreamWork, 'state' | 'clock'>,
): LeasedSecret {
  const asker = { entity_id: caller?.token.entity_id ?? '', display_name: caller?.token.display_name ?? '' }
  return {
    ...issueTerms(role, data, clock.now()),
    renewable: true,
    internal: data,
    alongside: (lease) => [
      ...state.intents.settleEntries(intents),
      state.view.fromRoot(issuedEntry(lease, data, asker)),
    ],
    abandoned: () => state.intents.undo(intents),
  }
}
