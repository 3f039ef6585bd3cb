import type { Mount } from '../../../core/mounts/mount.ts'
import { fail, ServiceError } from '../../../errors.ts'
import { slicesOf } from '../../../lib/data/pages.ts'
import type { EngineParts } from '../engine-parts.ts'
import { type DebrisObject, debrisObjects } from '../intents/debris.ts'
import type { MountState } from '../mount-state.ts'
import type { LeaseLookup } from '../records/credential-record.ts'
import { handOverSecrets } from '../root-rotation/root-secret-users.ts'
import { classify, type UpstreamCall, UpstreamError } from '../upstream/index.ts'
import { adoptForceRevoked } from './force-revoked.ts'

type ClearParts = Pick<EngineParts, 'clock' | 'random' | 'log' | 'everyMount' | 'stateOf'> & {
  readonly leases: LeaseLookup
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
}

const clearMs = 60_000
const signInMs = 15_000
const mostLogged = 100

/**
 * Undoes the debris of a mount before it is removed. Throws if some is left that the mount's credential could still
 * remove; if that is no longer accepted, or with `abandon`, logs each object instead.
 * docs/contract/cloud.md#removal-of-a-mount
 */
export async function clearMount(
  mount: Mount,
  { abandon }: { readonly abandon: boolean },
  parts: ClearParts,
): Promise<void> {
  const { leases, clock, random, log, signal } = parts
  const state = parts.stateOf(mount)
  await adoptForceRevoked(state, leases)
  await handOverSecrets(mount, parts)
  const { intents } = state
  const left = debrisObjects(
    abandon
      ? await intents.debris()
      : // no request is inside the mount any more, at any server
        await intents.undoAll(AbortSignal.any([AbortSignal.timeout(clearMs), signal]), 'all'),
  )
  const [first] = left
  if (first === undefined) return
  const call = { deadline: clock.now() + signInMs, correlationId: random.uuid(), signal }
  if (!abandon && (await maySignIn(state, call)))
    throw fail('upstream', debrisRefusal(mount, left.length, first))
  logDebris(mount, left, abandon, log)
}

function logDebris(
  { path, namespace }: Mount,
  left: readonly DebrisObject[],
  abandoned: boolean,
  log: ClearParts['log'],
): void {
  const why = abandoned
    ? 'a mount was removed and its debris abandoned'
    : 'a mount that cannot sign in was removed'
  for (const objects of slicesOf(left, mostLogged))
    log.error(
      { event: 'cloud_debris_left', mount: path, namespace, abandoned, objects },
      `${why}: these objects may stay upstream`,
    )
}

/** Whether the mount's credential may be accepted. True as well if the cloud does not answer. */
async function maySignIn(state: MountState, call: UpstreamCall): Promise<boolean> {
  try {
    await (await state.upstream()).tokens.token('directory', call)
    return true
  } catch (error) {
    if (error instanceof UpstreamError) return classify(error).kind !== 'credential'
    if (error instanceof ServiceError) return false
    throw error
  }
}

function debrisRefusal({ path }: Mount, count: number, { kind, id, error }: DebrisObject): string {
  const objects = count === 1 ? '1 object' : `${count} objects`
  const first = `${[kind, id].filter((part) => part !== '').join(' ')}: ${error === '' ? 'not tried yet' : error}`
  return (
    `${objects} of this mount could not be removed from the cloud yet (first ${first}). ` +
    `${path}debris lists them. They are retried in the background; a write to ${path}reap with dry_run=false retries them at once. ` +
    'Disable the mount again when none is left, or add ?abandon=true, which needs sudo, to leave them behind'
  )
}
