import type { Mount } from '../../../core/mounts/mount.ts'
import { fail } from '../../../errors.ts'
import type { Limiter } from '../../../lib/concurrency/limiter.ts'
import { makeCredential } from '../credentials/make-credential.ts'
import type { NewCredential } from '../credentials/new-credential.ts'
import { untilReady } from '../credentials/readiness.ts'
import type { EngineParts } from '../engine-parts.ts'
import type { MountState, NamedRole } from '../mount-state.ts'
import { callWithin } from '../upstream-work.ts'
import type { PoolTerms } from './pool-terms.ts'

type Wanted = NamedRole & {
  readonly terms: PoolTerms
  readonly signal: AbortSignal
  /** How long a new secret may take until the login service knows it. */
  readonly provenMs: number
}

type Place = EngineParts & {
  readonly mount: Mount
  readonly state: MountState
  /** Limits the credentials of a mount that are created at a time. */
  creationsOf(mount: Mount): Limiter
}

/** Makes a credential that works, stored by the write that settles its intents. */
export async function makeMember(
  { name, role, terms, signal, provenMs }: Wanted,
  place: Place,
): Promise<void> {
  const { clock, random, mount, state } = place
  const upstream = await state.upstream()
  const call = callWithin(clock, random.uuid(), signal)
  const work = { ...place, upstream, call, secretSeconds: terms.secretSeconds }
  const created = await inside(place, () =>
    place.creationsOf(mount).run(() => makeCredential(name, role, work)),
  )
  try {
    // not inside: a removal of the mount does not wait for this
    const proving = { ...work, call: { ...call, deadline: clock.now() + provenMs } }
    if ((await untilReady(created.data.client_id, created.proof, provenMs, proving)) === undefined)
      throw fail('upstream', 'the login service does not accept the new credential')
    await inside(place, () => store(created, terms, place))
  } catch (error) {
    await state.intents.undo(created.intents)
    throw error
  }
}

async function store(
  { data, answer, intents }: NewCredential,
  { digest }: PoolTerms,
  { clock, random, state }: Place,
): Promise<void> {
  const member = state.pool.entry({ since: clock.now(), terms: digest, data, answer }, random)
  if (!(await state.view.write([...(await state.intents.settling(intents)), member])))
    throw fail('unavailable', 'the intents of a new credential were changed meanwhile')
}

async function inside<T>({ enter, mount }: Place, work: () => Promise<T>): Promise<T> {
  const leave = enter(mount)
  if (leave === undefined) throw fail('unavailable', 'the mount is being removed')
  try {
    return await work()
  } finally {
    leave()
  }
}
