import { setTimeout as wait } from 'node:timers/promises'
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from '../simulators/server-process.ts'
import { median } from './measure.ts'
import { readProcessFigures } from './process-figures.ts'

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
