import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { send, sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillLeases } from './fill-leases.ts'
import type { Generator } from './generator.ts'
import { jobOf } from './measure.ts'
import { configureLogins, loginPath, signLogins } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { megabytes, verdict } from './table.ts'

export type LeasesInput = { leases: number; generator: Generator }

const together = 10_000
const knownJwts = 256
const sliceMs = 1000
const slicesBefore = 5
/** Time from the last written lease to expiry; the server starts and logins are measured in between. */
const leadMs = 15_000
const pollMs = 50
const giveUpMs = 60_000

/**
 * Measures a store with many leases, 10,000 of which expire in the same second: the time until they are
 * revoked, and the effect on logins.
 */
export async function measureLeases({ leases, generator }: LeasesInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  const launch = () =>
    startServerProcess({
      folder: folder.path,
      entry: join(import.meta.dirname, '../test/support/practice-server.ts'),
    })

  let server = await launch()
  await configureLogins(server.url, server.rootToken, issuer)
  await sendSuccessfully(server.url, {
    method: 'POST',
    path: 'sys/mounts/practice',
    token: server.rootToken,
    body: { type: 'practice' },
  })
  const mountAccessor = await accessorOf(server)
  await server.stop()
  let endsAt = 0
  const at = () => {
    endsAt = Date.now() + leadMs
    return endsAt
  }
  const onProgress = (done: number) => process.stderr.write(`\r${done} leases`)
  const ids = await fillLeases({
    folder: folder.path,
    mountAccessor,
    later: leases - together,
    together: { count: together, at },
    onProgress,
  })
  process.stderr.write('\n')
  server = await launch()
  await using _ = server

  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const slice = async () => {
    const [result] = await generator.run([
      jobOf({ contender: server, requests, connections: usualConnections, forMs: sliceMs }),
    ])
    if (result === undefined) throw new Error('the load generator returned no result')
    return result
  }
  while (Date.now() < endsAt - (slicesBefore + 1) * sliceMs) await slice()
  const before = rate(await repeat(slice, () => Date.now() > endsAt - sliceMs))
  await wait(Math.max(0, endsAt - Date.now()))
  const gone = whenGone(server, ids, endsAt)
  let isGone = false
  void gone.then(() => {
    isGone = true
  })
  const during = rate(await repeat(slice, () => isGone))
  const goneAfterMs = await gone
  const share = during / before
  const rss = (await readProcessFigures(server.pid))?.rssBytes
  return [
    `${leases} leases, ready after ${Math.round(server.readyAfterMs)} ms, RSS ${megabytes(rss)} MB`,
    `${together} that expire in the same second are revoked ${(goneAfterMs / 1000).toFixed(1)} s after its beginning (${verdict(goneAfterMs <= 6000, '≤ 5 s after its end')})`,
    `logins before ${Math.round(before)}/s, during revocation ${Math.round(during)}/s: ${share.toFixed(2)} (${verdict(share >= 0.7, '≥ 0.70')})`,
  ].join('\n')
}

type Slice = { requests: number; seconds: number }

async function repeat(slice: () => Promise<Slice>, isEnough: () => boolean): Promise<Slice[]> {
  const slices: Slice[] = []
  do slices.push(await slice())
  while (!isEnough())
  return slices
}

const rate = (slices: readonly Slice[]) =>
  sum(slices.map(({ requests }) => requests)) / sum(slices.map(({ seconds }) => seconds))
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

async function accessorOf({ url, rootToken }: ServerProcess): Promise<string> {
  const { body } = await sendSuccessfully(url, {
    method: 'GET',
    path: 'sys/mounts/practice',
    token: rootToken,
  })
  return String(body?.accessor)
}

/** Milliseconds from `since` until none of the leases can be looked up. */
async function whenGone(
  { url, rootToken }: ServerProcess,
  ids: readonly string[],
  since: number,
): Promise<number> {
  const call = (id: string) => ({
    method: 'POST',
    path: 'sys/leases/lookup',
    token: rootToken,
    body: { lease_id: id },
  })
  // start with the last one: a revoked lease does not reappear
  for (const id of ids.toReversed()) {
    while ((await send(url, call(id))).status === 200) {
      if (Date.now() - since > giveUpMs) throw new Error('expired leases still exist')
      await wait(pollMs)
    }
    if (id === ids.at(-100)) break
  }
  const goneAfterMs = Date.now() - since
  const left = await send(url, {
    method: 'GET',
    path: 'sys/leases/lookup/practice/creds/due?list=true',
    token: rootToken,
  })
  if (left.status !== 404) throw new Error('some expired leases still exist')
  return goneAfterMs
}
