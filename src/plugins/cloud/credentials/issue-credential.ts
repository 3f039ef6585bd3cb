import { z } from 'zod'
import type { ViewEntry } from '../../../core/barrier/view.ts'
import type { Caller } from '../../../core/callers/access.ts'
import type { LeasedSecret } from '../../../core/leases/lease.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import type { Servers } from '../../../core/servers/servers.ts'
import { mountTtl, type TtlBounds } from '../../../core/tokens/store/lifetime.ts'
import { fail, refuse } from '../../../errors.ts'
import type { Call } from '../../../http/resource/resource.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'
import { durationField, stringField } from '../../../lib/text/fields.ts'
import { checkAreHarmless } from '../app-roles/resolve-app-roles.ts'
import { engineOptions } from '../mount-options.ts'
import type { MountState } from '../mount-state.ts'
import { takeMember } from '../pool/leave-pool.ts'
import { poolTerms } from '../pool/pool-terms.ts'
import { credentialEntry, requesterOf } from '../records/credential-record.ts'
import { checkHasScopes, type RoleRecord } from '../roles/role-record.ts'
import type { IssueWork, UpstreamWork } from '../upstream-work.ts'
import { issueTerms } from './lease-terms.ts'
import { makeCredential } from './make-credential.ts'
import { type NewCredential, secretLifetime } from './new-credential.ts'
import { type Readiness, type ReadyParts, untilReady } from './readiness.ts'

/** How to return a credential. The mount's options are the defaults. */
export const credentialFields = z.object({
  wait: stringField
    .optional()
    .describe('`ready`: return the credential once it works; `none`: return it immediately'),
  wait_limit: durationField.optional().describe('With `wait=ready`: how long to wait at most'),
  on_timeout: stringField.optional().describe('`return` or `revoke` a credential that is not ready by then'),
})

type CredentialInput = z.output<typeof credentialFields>

export type CredentialParts = Omit<ReadyParts, 'upstream' | 'call'> & {
  readonly state: MountState
  /** Limits the credentials of the mount that are created at a time. */
  readonly creations: Limiter
  readonly servers: Pick<Servers, 'confirmCopies'>
  readonly requestLimitMs: number
  /** TTLs of a mount that sets none. */
  readonly systemTtl: TtlBounds
}

export type CredentialRequest = {
  readonly call: Pick<Call, 'requestId' | 'path'>
  readonly mount: Mount
  readonly caller: Caller | undefined
  /** As in the request's path, in any case. */
  readonly role: string
  readonly input: CredentialInput
  /** Calls `listener` when the client disconnects. Returns a function that stops listening. */
  whenGone(listener: () => void): () => void
}

export type CredentialReply = {
  readonly data: { client_id: string } & NewCredential['answer']
  readonly warnings: string[]
  readonly secret: LeasedSecret
}

/**
 * Issues one credential. The request's id becomes the correlation id in tag, lease and log.
 * docs/contract/cloud.md#credentials
 */
export async function issueCredential(
  request: CredentialRequest,
  parts: CredentialParts,
): Promise<CredentialReply> {
  const { mount, input } = request
  const asked = readinessOf(mount, input)
  // waiting for a lock counts towards the request's time limit
  const begun = parts.clock.now()
  const deadline = begun + parts.requestLimitMs
  const gone = new AbortController()
  const isOver = request.whenGone(() => gone.abort())
  try {
    const pooled = await handOut(request, deadline, parts)
    const made =
      pooled ??
      (await parts.creations.run(() => {
        checkClientWaits(gone.signal)
        return make(request, deadline, parts)
      }))
    const { created, role, work } = made
    // others may go on: waiting for readiness creates nothing
    try {
      const warnings: string[] = []
      if (pooled !== undefined && asked !== undefined) warnings.push(readyAfter(0))
      else if (made.proof !== undefined) {
        const isFallback = (role.pool ?? 0) > 0
        const readiness = isFallback ? readinessOf(mount, { ...input, wait: input.wait ?? 'ready' }) : asked
        const proving = { ...work, call: { ...work.call, signal: gone.signal } }
        if (readiness !== undefined)
          warnings.push(await waitUntilReady({ ...created, proof: made.proof }, readiness, proving))
        if (isFallback)
          warnings.unshift(`made on demand, ${((parts.clock.now() - begun) / 1000).toFixed(1)} s`)
      }
      checkClientWaits(gone.signal)
      const data = { client_id: created.data.client_id, ...created.answer }
      // the token may have been revoked meanwhile, at another server: that is checked with its lease
      await parts.servers.confirmCopies()
      const settling = await work.state.intents.settling(created.intents)
      return { data, warnings, secret: leased(created, { role, caller: request.caller, settling, work }) }
    } catch (error) {
      await work.state.intents.undo(created.intents)
      throw error
    }
  } finally {
    isOver()
  }
}

/** Throws if the client has disconnected. Calls that have begun go on: cut off, their outcome would be unknown. */
function checkClientWaits(gone: AbortSignal): void {
  if (gone.aborted) throw fail('upstream', 'the client is gone: context canceled')
}

type Ready = { readonly name: string; readonly role: RoleRecord; readonly work: ReadyParts & IssueWork }

type Created = {
  readonly created: Omit<NewCredential, 'proof'>
  readonly role: RoleRecord
  readonly work: ReadyParts
  /** Absent: it was proven before. */
  readonly proof?: NewCredential['proof']
}

/** The role as it is now. Throws if it issues nothing. */
async function prepare(
  { call: { requestId }, mount, role: typed }: CredentialRequest,
  deadline: number,
  parts: CredentialParts,
): Promise<Ready> {
  const { state } = parts
  const upstream = await state.upstream()
  const name = typed.toLowerCase()
  const role = await state.findRole(name)
  if (role === undefined) throw refuse('invalid', `role '${name}' does not exist`)
  checkHasScopes(name, role)
  checkAreHarmless(role, mount)
  const options = engineOptions(mount)
  const secretSeconds = secretLifetime(role, options, mountTtl(mount.config, parts.systemTtl))
  const work = { ...parts, mount, upstream, call: { deadline, correlationId: requestId }, secretSeconds }
  return { name, role, work }
}

async function make(request: CredentialRequest, deadline: number, parts: CredentialParts): Promise<Created> {
  const { name, role, work } = await prepare(request, deadline, parts)
  const { proof, ...created } = await makeCredential(name, role, work)
  return { created, role, work, proof }
}

/** A credential that was made ahead. docs/contract/cloud-pool.md#handing-out */
async function handOut(
  request: CredentialRequest,
  deadline: number,
  parts: CredentialParts,
): Promise<Created | undefined> {
  const known = await parts.state.findRole(request.role.toLowerCase())
  if (known === undefined || (known.pool ?? 0) === 0) return undefined
  // another server may just have changed the role
  await parts.servers.confirmCopies()
  const { name, role, work } = await prepare(request, deadline, parts)
  const terms = poolTerms(role, work.upstream.settings, request.mount, parts.systemTtl)
  const created = await takeMember(name, { terms, now: parts.clock.now(), state: parts.state })
  return created && { created, role, work }
}

/** How to wait for a credential; undefined: not at all. Throws for values that are none. */
export function readinessOf(
  mount: Mount,
  { wait, wait_limit, on_timeout }: CredentialInput,
): Readiness | undefined {
  const options = engineOptions(mount)
  if (wait !== undefined && wait !== 'ready' && wait !== 'none')
    throw refuse('invalid', "wait must be 'ready' or 'none'")
  if (on_timeout !== undefined && on_timeout !== 'return' && on_timeout !== 'revoke')
    throw refuse('invalid', "on_timeout must be 'return' or 'revoke'")
  if ((wait ?? options.wait) !== 'ready') return undefined
  return { limitMs: (wait_limit ?? options.wait_limit) * 1000, onTimeout: on_timeout ?? options.on_timeout }
}

const readyAfter = (seconds: number): string => `credentials were ready after ${seconds} s`

/** Returns a warning. Throws if the credential is not ready in time and must be revoked. */
async function waitUntilReady(
  { data, proof }: Pick<NewCredential, 'data' | 'proof'>,
  { limitMs, onTimeout }: Readiness,
  parts: ReadyParts,
): Promise<string> {
  const seconds = await untilReady(data.client_id, proof, limitMs, parts)
  if (seconds !== undefined) return readyAfter(seconds)
  if (onTimeout === 'return') return 'credentials may take a short time to become usable'
  throw fail('upstream', 'credentials were not ready in time and are revoked')
}

/** The write that stores the lease also settles the intents and stores the credential record. */
function leased(
  { data, intents }: Pick<NewCredential, 'data' | 'intents'>,
  {
    role,
    caller,
    settling,
    work: { state, clock },
  }: {
    role: RoleRecord
    caller: Caller | undefined
    settling: readonly ViewEntry[]
    work: Pick<UpstreamWork, 'state' | 'clock'>
  },
): LeasedSecret {
  const requester = requesterOf(caller)
  return {
    ...issueTerms(role, data, clock.now()),
    renewable: true,
    internal: data,
    correlationId: data.correlation_id,
    alongside: (lease) => [...settling, state.view.fromRoot(credentialEntry(lease, data, requester))],
    abandoned: () => state.intents.undo(intents),
  }
}
