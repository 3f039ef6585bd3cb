import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, knownBodies, logIn, loginsWith } from './pipeline-logins.ts'
import { megabytes, verdict } from './table.ts'

export type BackupInput = { tokens: number; generator: Generator; options: BenchOptions }

const program = join(import.meta.dirname, '../src/process/main.ts')
const maxP99Ratio = 3

/**
 * Measures logins while backups of a large store are made, one after the other, in turns with logins alone; and
 * how far the write-ahead log grows.
 */
export async function measureBackup({ tokens, generator, options }: BackupInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const bodies = await knownBodies(issuer, 'ES256')
  await prepare(folder.path, tokens, async (url, rootToken) => {
    await configureLogins(url, rootToken, issuer)
    return (await logIn(url, bodies.slice(0, 1)))[0] ?? ''
  })
  const { size } = await stat(join(folder.path, 'gatehouse.db'))

  await using server = await startServerProcess({ folder: folder.path })
  const requests = loginsWith(bodies)
  const forMs = options.seconds * 1000
  const run = async (): Promise<LoadResult> => {
    const job = jobOf({ contender: server, requests, connections: usualConnections, forMs })
    const [result] = await generator.run([job])
    if (result === undefined) throw new Error('the load generator returned no result')
    return result
  }
  await run()
  const [alone, beside, backupSeconds]: [LoadResult[], LoadResult[], number[]] = [[], [], []]
  let logBytes = 0
  for (let round = 0; round < options.rounds; round++) {
    alone.push(await run())
    const ending = new AbortController()
    const backups = backUpUntil(ending.signal, folder.path)
    beside.push(await run())
    ending.abort()
    backupSeconds.push(...(await backups))
    logBytes = Math.max(logBytes, (await stat(join(folder.path, 'gatehouse.db-wal'))).size)
  }
  const p99 = (results: readonly LoadResult[]) => median(results.map(({ p99Ms }) => p99Ms))
  const ratio = p99(beside) / p99(alone)
  return [
    `logins, ${usualConnections} connections, database ${megabytes(size)} MB`,
    `without a backup  ${line(alone)}`,
    `during backups    ${line(beside)}  p99 × ${ratio.toFixed(2)} (${verdict(ratio <= maxP99Ratio, `≤ ${maxP99Ratio}`)})`,
    `a backup took ${median(backupSeconds).toFixed(1)} s; the write-ahead log grew to ${megabytes(logBytes)} MB`,
  ].join('\n')
}

async function prepare(
  folder: string,
  count: number,
  configure: (url: string, rootToken: string) => Promise<string>,
): Promise<void> {
  const server = await startServerProcess({ folder })
  const like = await configure(server.url, server.rootToken).finally(() => server[Symbol.asyncDispose]())
  const onProgress = (done: number) => process.stderr.write(`\r${done} tokens`)
  await fillTokens({ folder, like, count, onProgress })
  process.stderr.write('\n')
}

/** Makes backups until `ending`, and returns how long each took, in seconds. */
async function backUpUntil(ending: AbortSignal, folder: string): Promise<number[]> {
  const seconds: number[] = []
  while (!ending.aborted) {
    const startedAt = performance.now()
    await backUp(folder)
    seconds.push((performance.now() - startedAt) / 1000)
  }
  return seconds
}

/** Makes a backup of the store in this folder. */
export async function backUp(folder: string): Promise<void> {
  const child = spawn(process.execPath, [program, 'backup', join(folder, 'backup')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, GATEHOUSE_STORAGE: `sqlite:${join(folder, 'gatehouse.db')}` },
    cwd: folder,
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`a backup ended with ${code}`)
}

const line = (results: readonly LoadResult[]) => {
  const rate = median(results.map(({ requests, seconds }) => requests / seconds))
  const p99 = results.map(({ p99Ms }) => p99Ms.toFixed(1)).join(', ')
  const max = results.map(({ maxMs }) => maxMs.toFixed(0)).join(', ')
  return `${Math.round(rate)}/s  p99 ${p99} ms  max ${max} ms`
}
