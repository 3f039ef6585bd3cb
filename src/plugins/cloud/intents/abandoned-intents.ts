import type { BackgroundJob, Held } from '../../../core/jobs/jobs.ts'
import type { Servers } from '../../../core/servers/servers.ts'
import { wait } from '../../../lib/concurrency/wait.ts'
import type { EngineParts } from '../engine-parts.ts'

type AbandonedIntentsParts = Pick<EngineParts, 'log' | 'everyMount' | 'stateOf'> & {
  readonly job: Pick<BackgroundJob, 'ran'>
  readonly servers: Pick<Servers, 'isAlone' | 'live'>
}

const lookMs = 2_000
const againMs = 5_000
/** A server that is gone is noticed at once; this is for one that came back for a moment. */
const lookAnywayMs = 60_000

/** Takes over the intents of servers that are gone, until the job ends; without other servers, once. */
export async function adoptAbandoned({ ended }: Held, parts: AbandonedIntentsParts): Promise<void> {
  const { servers, job } = parts
  let known: ReadonlySet<string> = new Set()
  let lookAt = 0
  while (!ended.aborted) {
    const live = await servers.live().catch(() => known)
    const now = performance.now()
    if (now >= lookAt || !known.isSubsetOf(live)) {
      const isComplete = await adoptAll(parts)
      job.ran(isComplete ? 'ok' : 'failed')
      if (isComplete && servers.isAlone) return
      lookAt = now + (isComplete ? lookAnywayMs : againMs)
    }
    known = live
    await wait(Math.min(lookMs, Math.max(0, lookAt - now)), ended)
  }
}

/** Also of mounts that are being removed, because that may be refused. False if it failed for a mount. */
async function adoptAll({ everyMount, stateOf, log }: AbandonedIntentsParts): Promise<boolean> {
  const outcomes = everyMount().map(async (mount) => {
    try {
      await stateOf(mount).intents.adopt('gone')
      return true
    } catch (err) {
      log.warn(
        { event: 'record_unreadable', err, mount: mount.path },
        'cannot read the intents of a cloud mount',
      )
      return false
    }
  })
  return (await Promise.all(outcomes)).every(Boolean)
}
