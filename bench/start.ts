import { setTimeout as wait } from 'node:timers/promises'
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from '../simulators/server-process.ts'
import { executable } from '../test/support/executable.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { median } from './measure.ts'
import { readProcessFigures } from './process-figures.ts'
import { megabytes, verdict } from './table.ts'

export type StartFigures = {
  readyMs: number
  cpuMs: number
  rssBytes: number | undefined
  idleRssBytes: number | undefined
}

const starts = 5

/**
 * Starts the server five times. Returns the medians of the time to ready and of its processor time, and the memory of the last one
 * at once and after `idleSeconds` without requests.
 */
export async function measureStart(
  options: ServerProcessOptions,
  idleSeconds: number,
): Promise<StartFigures> {
  const readyMs: number[] = []
  const cpuMs: number[] = []
  const startOnce = async (): Promise<ServerProcess> => {
    const server = await startServerProcess(options)
    readyMs.push(server.readyAfterMs)
    cpuMs.push(((await readProcessFigures(server.pid))?.cpuSeconds ?? 0) * 1000)
    return server
  }
  for (let start = 1; start < starts; start++) await (await startOnce()).stop()
  await using server = await startOnce()
  const rssBytes = (await readProcessFigures(server.pid))?.rssBytes
  await wait(idleSeconds * 1000)
  const idleRssBytes = (await readProcessFigures(server.pid))?.rssBytes
  return { readyMs: median(readyMs), cpuMs: median(cpuMs), rssBytes, idleRssBytes }
}

/** The start of the program of `npm start`. */
export const describeStart = (idleSeconds: number) => describe('npm start', {}, idleSeconds, 450)

/** The start of the single executable, which is built first if sources have changed. */
export const describeExecutable = async (idleSeconds: number) =>
  describe('the executable', { executable: await executable() }, idleSeconds, 300)

async function describe(
  name: string,
  program: Pick<ServerProcessOptions, 'executable'>,
  idleSeconds: number,
  aimMs: number,
): Promise<string> {
  await using folder = await makeBenchFolder()
  const start = await measureStart({ folder: folder.path, ...program }, idleSeconds)
  const { readyMs, cpuMs, idleRssBytes } = start
  const ready = `ready after ${Math.round(readyMs)} ms (${verdict(readyMs <= aimMs, `≤ ${aimMs} ms`)})`
  const idle = verdict((idleRssBytes ?? 0) <= 100e6, '≤ 100 MB')
  return `${name}: ${ready}, ${Math.round(cpuMs)} ms of processor time, RSS after ${idleSeconds} s idle ${megabytes(idleRssBytes)} MB (${idle})`
}
