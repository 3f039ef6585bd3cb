import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { Cluster } from './cluster.ts'

const mostSeconds = 15
/** Longer than the pause between two attempts to take a job. */
const settleMs = 4_000

type HeldJob = { readonly job: string; readonly holder: string; readonly epoch: string }

/**
 * Pauses (SIGSTOP) a server that does background jobs. Another one must do them after 15 s at the latest, and
 * keep them when the paused one continues. Returns how long it took, and what went wrong.
 */
export async function pauseJobHolder(
  cluster: Cluster,
  pauseMs: number,
): Promise<{ readonly seconds: number; readonly problems: readonly string[] }> {
  const client = new Client(cluster.postgres.url())
  await client.connect()
  await using _closed = { [Symbol.asyncDispose]: () => client.end() }
  const heldJobs = async (): Promise<HeldJob[]> => {
    const { rows } = await client.query(
      'SELECT jobs.name AS job, replicas.name AS holder, epoch FROM jobs JOIN replicas ON replicas.id = replica ORDER BY 1',
    )
    return rows
  }
  const isOf = (holder: string) => (one: HeldJob) => one.holder === holder
  let holder: string | undefined
  // those of a server that was killed are free first after a while
  while (holder === undefined) {
    await pause(100)
    holder = (await heldJobs()).find((one) => cluster.replicaNamed(one.holder) !== undefined)?.holder
  }
  const jobs = (await heldJobs()).filter(isOf(holder)).map(({ job }) => job)
  const resume = cluster.pause(cluster.replicaNamed(holder) ?? 0)
  try {
    const stoppedAt = performance.now()
    const elapsed = () => (performance.now() - stoppedAt) / 1000
    while ((await heldJobs()).some(isOf(holder)) && elapsed() < pauseMs / 1000) await pause(100)
    const seconds = elapsed()
    await pause(Math.max(0, pauseMs - seconds * 1000))
    const taken = (await heldJobs()).filter(({ job }) => jobs.includes(job))
    resume()
    await pause(settleMs)
    const kept = (await heldJobs()).filter(({ job }) => jobs.includes(job))
    const problems = [
      seconds > mostSeconds && `after ${seconds.toFixed(1)} s, ${holder} still had its jobs`,
      taken.length < jobs.length && `of ${jobs.join()}, only these are done: ${JSON.stringify(taken)}`,
      JSON.stringify(kept) !== JSON.stringify(taken) &&
        `jobs of ${holder} went back: ${JSON.stringify(kept)}`,
    ]
    return { seconds, problems: problems.filter((problem) => problem !== false) }
  } finally {
    resume()
  }
}
