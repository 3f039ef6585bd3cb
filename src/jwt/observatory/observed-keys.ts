import type { Keyset } from '../keys/keyset.ts'
import type { KeyWatch } from './key-watch.ts'
import { shownKeys } from './shown-keys.ts'
import { hourMs } from './timeline.ts'

/** The key sources of a configuration, and who keeps their timeline. */
export type ObservedKeys = {
  readonly keyWatch: KeyWatch
  readonly keyset: Pick<Keyset, 'sources' | 'refresh'>
  /** When the configuration was written, in milliseconds since the epoch. */
  readonly written: number
  /** The thumbprints of the pinned keys. */
  readonly pins: readonly string[]
}

/** The keys of the sources since they are known; undefined is a mount without a configuration. */
export async function keyTimeline(observed: ObservedKeys | undefined, refresh: boolean): Promise<object> {
  if (observed === undefined) return shownKeys([], [])
  const { keyWatch, keyset, written, pins } = observed
  if (refresh) await keyset.refresh()
  await keyWatch.record(keyset, written)
  return shownKeys(pins, await keyWatch.timelines(keyset))
}

/** Records news about the keys of these mounts, and fetches keys that are an hour old. */
export async function watchKeys(
  mounts: Iterable<() => Promise<ObservedKeys | undefined>>,
  { now, stopping }: { now(): number; readonly stopping: AbortSignal },
): Promise<void> {
  const looks: Promise<void>[] = []
  const problems: unknown[] = []
  for (const find of mounts) {
    if (stopping.aborted) break
    try {
      const observed = await find()
      if (observed === undefined) continue
      const { keyWatch, keyset, written } = observed
      if (isDue(keyset, now())) looks.push(keyset.refresh())
      await keyWatch.record(keyset, written)
    } catch (error) {
      // other mounts must not wait for it
      problems.push(error)
    }
  }
  // a key server that is slow does not keep a server from stopping
  await Promise.race([Promise.allSettled(looks), ended(stopping)])
  if (problems.length > 0) throw problems[0]
}

/** Whether a source that logins needed was last asked an hour ago. */
const isDue = (keyset: Pick<Keyset, 'sources'>, now: number): boolean =>
  keyset.sources().some(({ histories }) => {
    const last = histories.at(-1)?.results.at(-1)
    return last !== undefined && now - last.time >= hourMs
  })

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
