import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadJob, LoadResult } from './load.ts'
import { runWrk } from './wrk.ts'

/** A load generator. `run` runs its jobs at the same time. */
export interface Generator extends AsyncDisposable {
  readonly name: string
  run(jobs: readonly LoadJob[]): Promise<LoadResult[]>
}

/**
 * wrk if it is on PATH, since it uses less CPU; otherwise our own generator, in one process per job. Ours
 * also takes the jobs that wrk cannot do: methods it does not support, a source address, and requests that are
 * sent only once or differ in their paths.
 */
export function startGenerator(wanted: 'wrk' | 'own' | undefined): Generator {
  const hasWrk = spawnSync('wrk', ['-v']).error === undefined
  if (wanted === 'wrk' && !hasWrk) throw new Error('wrk is not on PATH')
  const usesWrk = hasWrk && wanted !== 'own'
  const children: ChildProcess[] = []
  const childFor = (index: number) => {
    const child =
      children[index] ?? fork(join(import.meta.dirname, 'load-process.ts'), { serialization: 'advanced' })
    children[index] = child
    return child
  }
  return {
    name: usesWrk ? 'wrk' : 'bench/load.ts',
    run: (jobs) =>
      Promise.all(
        jobs.map((job, index) => (usesWrk && isForWrk(job) ? runWrk(job) : runInChild(childFor(index), job))),
      ),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(children.map(endChild))
    },
  }
}

const isForWrk = ({ once, method, perSecond, from, variants }: LoadJob) =>
  !once &&
  method !== 'LIST' &&
  perSecond === undefined &&
  from === undefined &&
  variants.every(({ path, headers, namespace }) => (path ?? headers ?? namespace) === undefined)

async function runInChild(child: ChildProcess, job: LoadJob): Promise<LoadResult> {
  const settled = new AbortController()
  const ended = once(child, 'exit', { signal: settled.signal }).then(() => {
    throw new Error('the load generator ended')
  })
  child.send(job)
  try {
    const [result] = await Promise.race([once(child, 'message', { signal: settled.signal }), ended])
    // load-process.ts sends one result per job
    return result as LoadResult
  } finally {
    ended.catch(() => {})
    settled.abort()
  }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}
