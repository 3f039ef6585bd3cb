import { sendSuccessfully, textIn } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { ApproleMethod } from '../src/plugins/approle/method.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { besideWork } from './beside-work.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { measureStart, type StartFigures } from './start.ts'
import { openStoppedStore } from './stopped-store.ts'
import { megabytes, verdict } from './table.ts'
import { TurnsFile } from './turns-file.ts'

export type SecretIdsInput = {
  readonly secretIds: number
  readonly idleSeconds: number
  readonly generator: Generator
  readonly options: BenchOptions
}

const few = 10
/** So many are written together, in one commit. */
const atOnce = 500
export const secretIdMount = 'auth/machines'
const path = secretIdMount
const aims = { start: 1.2, memory: 20 * 2 ** 20, p99: 1.5 }

/**
 * Measures a role with many secret ids against one with ten, on stores of their own: start, memory, logins and new
 * secret ids; and reads while the many are listed.
 */
export async function measureSecretIds(input: SecretIdsInput): Promise<string> {
  const { secretIds, idleSeconds, generator, options } = input
  await using fewFolder = await makeBenchFolder()
  await using manyFolder = await makeBenchFolder()
  const began = performance.now()
  const known = {
    few: await fillSecretIds(fewFolder.path, few),
    many: await fillSecretIds(manyFolder.path, secretIds),
  }
  const filled = `${secretIds} secret ids written in ${((performance.now() - began) / 1000).toFixed(0)} s`
  const environment = { GATEHOUSE_USER_LOCKOUT: 'off' }
  const folders = {
    few: { folder: fewFolder.path, environment },
    many: { folder: manyFolder.path, environment },
  }
  const starts = {
    few: await measureStart(folders.few, idleSeconds),
    many: await measureStart(folders.many, idleSeconds),
  }
  await using fewServer = await startServerProcess(folders.few)
  const turns = new TurnsFile(manyFolder.path)
  await using manyServer = await startServerProcess({
    folder: manyFolder.path,
    environment: { ...environment, ...turns.environment },
  })
  const servers = { few: fewServer, many: manyServer }
  const forMs = options.seconds * 1000

  const compared = async (name: string, requestOf: (which: 'few' | 'many') => object) => {
    const job = (which: 'few' | 'many') =>
      jobOf({
        contender: servers[which],
        requests: {
          method: 'POST',
          path: `/v1/${path}/${name === 'logins' ? 'login' : 'role/r/secret-id'}`,
          variants: [requestOf(which)],
        },
        connections: usualConnections,
        forMs,
      })
    const ratios: number[] = []
    const last = { few: 0, many: 0 }
    for (let round = 0; round < options.rounds + 1; round += 1) {
      for (const which of ['few', 'many'] as const) last[which] = p99Of(await generator.run([job(which)]))
      // the first round warms up
      if (round > 0) ratios.push(last.many / last.few)
    }
    const ratio = median(ratios)
    return `${name}: p99 ${last.many.toFixed(1)} ms, with ${few} ${last.few.toFixed(1)} ms: ${ratio.toFixed(2)} (${verdict(ratio <= aims.p99, `≤ ${aims.p99}`)})`
  }
  const logins = await compared('logins', (which) => ({
    body: JSON.stringify({ role_id: 'rid', secret_id: known[which] }),
  }))
  const generated = await compared('new secret ids', (which) => ({
    token: servers[which].rootToken,
    body: '{"ttl":"1h"}',
  }))
  return [
    filled,
    ...startLines(starts),
    logins,
    generated,
    await besideWork(manyServer, {
      generator,
      options,
      turns,
      name: 'all secret ids are listed',
      work: () => listAll(manyServer),
    }),
    await besideWork(manyServer, {
      generator,
      options,
      turns,
      name: 'the secret ids of a deleted role are removed',
      isOnce: true,
      work: () => removeAll(manyServer, secretIds),
    }),
  ].join('\n')
}

function startLines({ few: small, many }: { few: StartFigures; many: StartFigures }): string[] {
  const slower = many.readyMs / small.readyMs
  const more = (many.idleRssBytes ?? 0) - (small.idleRssBytes ?? 0)
  return [
    `ready after ${Math.round(many.readyMs)} ms, with ${few} after ${Math.round(small.readyMs)} ms: ${slower.toFixed(2)} (${verdict(slower <= aims.start, `≤ ${aims.start}`)})`,
    `RSS when idle ${megabytes(many.idleRssBytes)} MB, with ${few} ${megabytes(small.idleRssBytes)} MB (${verdict(more <= aims.memory, '+ 20 MiB')})`,
  ]
}

/** How many accessors a list of all secret ids names. */
async function listAll({ url, rootToken }: ServerProcess): Promise<number> {
  const answer = await fetch(`${url}/v1/${path}/role/r/secret-id?list=true`, {
    headers: { 'X-Vault-Token': rootToken },
  })
  const { data } = (await answer.json()) as { data: { keys: string[] } }
  return data.keys.length
}

/** Deletes the role and lets the server tidy up, which goes on after the response. */
async function removeAll({ url, rootToken: token }: ServerProcess, count: number): Promise<number> {
  await sendSuccessfully(url, { method: 'DELETE', path: `${path}/role/r`, token })
  await sendSuccessfully(url, { method: 'POST', path: `${path}/tidy/secret-id`, token })
  return count
}

function p99Of([result]: readonly LoadResult[]): number {
  if (result === undefined) throw new Error('no result')
  if (Object.keys(result.failures).length > 0) throw new Error(JSON.stringify(result.failures))
  return result.p99Ms
}

/** Adds a role with so many secret ids to the store of a stopped server; returns one of them. */
export async function fillSecretIds(folder: string, count: number): Promise<string> {
  const secretId = await createRole(folder)
  await using core = await openStoppedStore(folder)
  const method = new ApproleMethod({ ...core, identity: core.identities, failuresKept: 0 })
  const mount = core.mounts.table.all().find(({ plugin }) => plugin === 'approle')
  const role = mount && (await method.rolesOf(mount).find('r'))
  if (mount === undefined || role === undefined) throw new Error('the role was not stored')
  const fields = { metadata: '', cidr_list: [], token_bound_cidrs: [] }
  for (let done = 1; done < count; ) {
    const size = Math.min(atOnce, count - done)
    // they end over a month, from tomorrow on
    const one = (_: unknown, index: number) =>
      method.addSecretId(mount, role, { ...fields, ttl: 86_400 + (((done + index) * 7919) % 2_505_600) })
    await Promise.all(Array.from({ length: size }, one))
    done += size
    if (done % 10_000 < atOnce) process.stderr.write(`\r${done} secret ids`)
  }
  process.stderr.write('\n')
  return secretId
}

async function createRole(folder: string): Promise<string> {
  await using server = await startServerProcess({ folder })
  const { url, rootToken: token } = server
  const write = (at: string, body: object) => sendSuccessfully(url, { method: 'POST', path: at, token, body })
  await write(`sys/${path}`, { type: 'approle' })
  await write(`${path}/role/r`, { role_id: 'rid' })
  return textIn(await write(`${path}/role/r/secret-id`, {}), 'data', 'secret_id')
}
