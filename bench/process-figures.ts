import { readdir, readFile } from 'node:fs/promises'

/** CPU seconds used so far and resident bytes of a process and those it started; undefined where the system has no `/proc`. */
export type ProcessFigures = { cpuSeconds: number; rssBytes: number }

const ticksPerSecond = 100

/** Reads `/proc/<pid>`. */
export async function readProcessFigures(pid: number): Promise<ProcessFigures | undefined> {
  const [own, children] = await Promise.all([figuresOf(pid), readProc(pid, `task/${pid}/children`)])
  const started = children?.split(' ').filter((text) => text !== '') ?? []
  const others = await Promise.all(started.map((child) => readProcessFigures(Number(child))))
  return (
    own &&
    others.reduce<ProcessFigures>(
      (sum, figures) => ({
        cpuSeconds: sum.cpuSeconds + (figures?.cpuSeconds ?? 0),
        rssBytes: sum.rssBytes + (figures?.rssBytes ?? 0),
      }),
      own,
    )
  )
}

async function figuresOf(pid: number): Promise<ProcessFigures | undefined> {
  const [stat, status] = await Promise.all([readProc(pid, 'stat'), readProc(pid, 'status')])
  if (stat === undefined || status === undefined) return undefined
  // proc(5): after the name in parentheses, field 3 is the state, 14 and 15 are user and system time
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return {
    cpuSeconds: ticks / ticksPerSecond,
    rssBytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024,
  }
}

const readProc = (pid: number, file: string) =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => undefined)

/** The milliseconds for which the main thread of a process has waited for a processor that others had. */
export const readStarvedMs = async (pid: number): Promise<number> => (await schedule(pid, pid)).waitedMs

/**
 * The processor time of the threads that a process has, in milliseconds. V8's own threads are left out: they mark
 * garbage of many requests at once, and beside which one they run is chance.
 */
export async function readProcessorMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const schedules = await Promise.all(
    threads.map(async (thread) => {
      const name = await readProc(pid, `task/${thread}/comm`)
      return name?.trim() === 'node-V8Worker' ? 0 : (await schedule(pid, Number(thread))).ranMs
    }),
  )
  return schedules.reduce((sum, ranMs) => sum + ranMs, 0)
}

/** Both in `schedstat`, in nanoseconds; zero for a thread that has just ended. */
async function schedule(pid: number, thread: number): Promise<{ ranMs: number; waitedMs: number }> {
  const [ran = 0, waited = 0] = ((await readProc(pid, `task/${thread}/schedstat`)) ?? '0 0')
    .split(' ')
    .map((text) => Number(text) / 1e6)
  return { ranMs: ran, waitedMs: waited }
}
