import { Buffer } from 'node:buffer'
import { setTimeout as wait } from 'node:timers/promises'
import { send, sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import type { BenchOptions } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { type BesideWork, besideWork } from './beside-work.ts'
import { fillSecrets, secretOf } from './fill-secrets.ts'
import type { Generator } from './generator.ts'
import { HeldConnections } from './held-connections.ts'
import { median, sum } from './measure.ts'
import { readProcessFigures } from './process-figures.ts'
import { verdict } from './table.ts'
import { TurnsFile } from './turns-file.ts'

type BesideSecretsInput = { readonly generator: Generator; readonly options: BenchOptions }

const [listed, upgraded, waiting, changes] = [10_000, 10_000, 1_000, 20]
const wakeAimMs = 25
const leastNameBytes = '"secret-0",'.length

/**
 * Measures reads while a folder is listed, while mounts are upgraded from version 1 to 2, and while a thousand
 * reads wait for changes; and how soon a waiting read is answered.
 */
export async function measureBesideSecrets({ generator, options }: BesideSecretsInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await prepare(folder.path, options.rounds)
  const turns = new TurnsFile(folder.path)
  await using server = await startServerProcess({
    folder: folder.path,
    environment: { ...turns.environment, GATEHOUSE_MESSAGE_WAITERS: String(waiting * 2) },
  })
  const common = { generator, options, turns }
  return [
    await besideWork(server, {
      ...common,
      name: `a folder of ${listed} is listed`,
      work: () => keys(server, 'secret/metadata/f/?list=true'),
    }),
    await besideWork(server, {
      ...common,
      name: `a folder of ${listed} is scanned`,
      work: () => keys(server, 'secret/metadata/f/?scan=true'),
    }),
    await besideWork(server, {
      ...common,
      name: 'a mount is upgraded',
      isOnce: true,
      work: (run) => upgrade(server, `old-${run}`),
    }),
    ...(await besideWaits(server, common)),
  ].join('\n')
}

async function prepare(folder: string, mounts: number): Promise<void> {
  const server = await startServerProcess({ folder })
  const mount = (path: string, type: string) =>
    sendSuccessfully(server.url, {
      method: 'POST',
      path: `sys/mounts/${path}`,
      token: server.rootToken,
      body: { type },
    })
  await mount('secret', 'kv-v2')
  for (let one = 0; one < mounts; one += 1) await mount(`old-${one}`, 'kv-v1')
  await server.stop()
  const pathOf = (index: number) => `f/secret-${index}`
  await fillSecrets({ folder, mount: 'secret/', count: listed, pathOf })
  for (let one = 0; one < mounts; one += 1)
    await fillSecrets({ folder, mount: `old-${one}/`, count: upgraded, pathOf })
}

/** Does not parse the names: that would keep the processor from the reads that are measured. */
async function keys({ url, rootToken: token }: ServerProcess, path: string): Promise<number> {
  const response = await fetch(`${url}/v1/${path}`, { headers: { 'X-Vault-Token': token } })
  const { byteLength } = await response.arrayBuffer()
  if (response.status !== 200 || byteLength < listed * leastNameBytes)
    throw new Error(`a list has ${byteLength} bytes, with status ${response.status}`)
  return listed
}

/** Upgrades a mount, and waits until its secrets can be read. */
async function upgrade({ url, rootToken: token }: ServerProcess, mount: string): Promise<number> {
  const body = { options: { version: '2' } }
  await sendSuccessfully(url, { method: 'POST', path: `sys/mounts/${mount}/tune`, token, body })
  const last = { method: 'GET', path: `${mount}/data/f/secret-${upgraded - 1}`, token }
  while ((await send(url, last)).status !== 200) await wait(20)
  return upgraded
}

async function besideWaits(
  server: ServerProcess,
  common: Pick<BesideWork, 'generator' | 'options' | 'turns'>,
): Promise<string[]> {
  const { url, port, rootToken: token, pid } = server
  const path = 'secret/data/waited'
  const write = (version: number) =>
    sendSuccessfully(url, { method: 'POST', path, token, body: { data: secretOf(version) } })
  const tagged = async () =>
    (await sendSuccessfully(url, { method: 'GET', path, token })).headers.get('etag') ?? ''
  await write(0)
  const held = (tag: string) =>
    Buffer.from(
      `GET /v1/${path}?wait=60s HTTP/1.1\r\nhost: 127.0.0.1\r\nx-vault-token: ${token}\r\nif-none-match: ${tag}\r\n\r\n`,
    )
  const input = { port, count: waiting, from: ['127.0.0.2', '127.0.0.3'], bytes: held(await tagged()) }
  await using _waits = await HeldConnections.open(input)
  const name = `${waiting} reads wait`
  const line = await besideWork(server, { ...common, name, isOnce: true, work: async () => waiting })
  const before = await readProcessFigures(pid)
  await wait(2_000)
  const after = await readProcessFigures(pid)
  const share = ((after?.cpuSeconds ?? 0) - (before?.cpuSeconds ?? 0)) / 2
  const woken: number[] = []
  for (let change = 1; change <= changes; change += 1) {
    const tag = await tagged()
    const waits = fetch(`${url}/v1/${path}?wait=60s`, {
      headers: { 'X-Vault-Token': token, 'If-None-Match': tag },
    }).then(async (answer) => {
      await answer.text()
      return performance.now()
    })
    await wait(20)
    await write(change)
    const writtenAt = performance.now()
    woken.push((await waits) - writtenAt)
  }
  return [
    line,
    `${waiting} waiting reads use ${(share * 100).toFixed(1)} % of a processor; a change reaches one ${median(woken).toFixed(1)} ms after its write, ${(sum(woken) / changes).toFixed(1)} ms on average (${verdict(median(woken) <= wakeAimMs, `≤ ${wakeAimMs} ms`)})`,
  ]
}
