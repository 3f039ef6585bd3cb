import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchCase, type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { besideWork } from './beside-work.ts'
import { fillSecrets } from './fill-secrets.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { measureStart } from './start.ts'
import { megabytes, renderTable, verdict } from './table.ts'
import { TurnsFile } from './turns-file.ts'

export type ManySecretsInput = {
  readonly secrets: number
  readonly idleSeconds: number
  readonly generator: Generator
  readonly options: BenchOptions
}

/** Secrets that are read in turn: more than the server keeps in memory. */
const asked = 20_000
const folders = 1_000
const aims = { startMs: 1_000, reads: 0.9, listed: 1 / 3 }

/**
 * Measures a store with many secrets, in a thousand folders, against one with few: start, memory, reads, the list
 * of one folder, and reads of others while all paths are listed.
 */
export async function measureManySecrets(input: ManySecretsInput): Promise<string> {
  const { secrets, idleSeconds, generator, options } = input
  await using fewFolder = await makeBenchFolder()
  await using manyFolder = await makeBenchFolder()
  const began = performance.now()
  await fill(fewFolder.path, Math.min(asked, secrets))
  await fill(manyFolder.path, secrets)
  const { size } = await stat(join(manyFolder.path, 'gatehouse.db'))
  const filled = `${secrets} secrets written in ${((performance.now() - began) / 1000).toFixed(0)} s, database ${megabytes(size)} MB`
  const starts = {
    few: await measureStart({ folder: fewFolder.path }, idleSeconds),
    many: await measureStart({ folder: manyFolder.path }, idleSeconds),
  }
  await using few = await startServerProcess({ folder: fewFolder.path })
  const turns = new TurnsFile(manyFolder.path)
  await using many = await startServerProcess({ folder: manyFolder.path, environment: turns.environment })
  const cases: BenchCase[] = [
    {
      name: `reads of ${asked} secrets`,
      connections: usualConnections,
      aim: aims.reads,
      ours: readsOf(many, secrets),
      against: { contender: 'empty', name: 'few secrets', requests: readsOf(few, Math.min(asked, secrets)) },
    },
    {
      name: 'LIST 100 of a folder',
      connections: usualConnections,
      aim: aims.listed,
      ours: listOf(many),
      against: { contender: 'empty', name: 'few secrets', requests: listOf(few) },
    },
  ]
  const measured = []
  for (const one of cases)
    measured.push(await measureCase(one, { gatehouse: many, empty: few }, generator, options))
  const beside = (name: string, work: (run: number) => Promise<number>) =>
    besideWork(many, { generator, options, name, work, turns })
  return [
    filled,
    `ready after ${Math.round(starts.many.readyMs)} ms, with few after ${Math.round(starts.few.readyMs)} ms (${verdict(starts.many.readyMs <= aims.startMs, `≤ ${aims.startMs} ms`)})`,
    `RSS when idle ${megabytes(starts.many.idleRssBytes)} MB, with few ${megabytes(starts.few.idleRssBytes)} MB`,
    renderTable(measured),
    await beside('a folder is listed', (run) => keys(many, 'list', `team-${run % folders}/`)),
    await beside('all folders are listed', () => keys(many, 'list', '')),
    await beside('all paths are scanned', () => keys(many, 'scan', '')),
  ].join('\n')
}

const pathOf = (index: number) => `team-${index % folders}/secret-${index}`

async function fill(folder: string, count: number): Promise<void> {
  const server = await startServerProcess({ folder })
  const { url, rootToken: token } = server
  const body = { type: 'kv-v2' }
  await sendSuccessfully(url, { method: 'POST', path: 'sys/mounts/secret', token, body }).finally(() =>
    server.stop(),
  )
  await fillSecrets({ folder, mount: 'secret/', count, pathOf })
}

/** The same number of reads, spread over so many secrets. */
const readsOf = ({ rootToken: token }: ServerProcess, among: number): Requests => ({
  method: 'GET',
  path: '/v1/secret/data',
  variants: Array.from({ length: asked }, (_, index) => ({
    token,
    path: `/v1/secret/data/${pathOf(Math.floor((index * among) / asked))}`,
  })),
})

const listOf = ({ rootToken: token }: ServerProcess): Requests => ({
  method: 'LIST',
  path: '/v1/secret/metadata/team-7?limit=100',
  variants: [{ token }],
})

/** How many keys this server names. */
async function keys({ url, rootToken }: ServerProcess, verb: 'list' | 'scan', path: string): Promise<number> {
  const answer = await fetch(`${url}/v1/secret/metadata/${path}?${verb}=true`, {
    headers: { 'X-Vault-Token': rootToken },
  })
  const { data } = (await answer.json()) as { data: { keys: string[] } }
  return data.keys.length
}
