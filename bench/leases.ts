import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bundle } from '../release/bundle.ts'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { send, sendSuccessfully } from '../simulators/operator.ts'
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillLeases } from './fill-leases.ts'
import type { Generator } from './generator.ts'
import { measureGrownStore } from './grown-store.ts'
import { jobOf } from './measure.ts'
import { configureLogins, knownBodies, loginsWith } from './pipeline-logins.ts'
import { megabytes, verdict } from './table.ts'

export type LeasesInput = { leases: number; idleSeconds: number; generator: Generator; options: BenchOptions }

const program = 'test/support/practice-server.ts'

/** At most; half of the leases in a small store. */
const mostTogether = 10_000
const inSmallStore = 100
const lookedUp = 4096
const sliceMs = 1000
const slicesBefore = 5
/** Time from the last written lease to expiry; the server starts and logins are measured in between. */
const leadMs = 15_000
const pollMs = 50
const giveUpMs = 60_000

/**
 * Measures a store with many leases, in turns with one that has few: start, memory, lookups and logins. Then up to
 * 10,000 of them expire in the same second: the time until they are revoked, and the effect on logins.
 */
export async function measureLeases(input: LeasesInput): Promise<string> {
  const { leases, idleSeconds, generator, options } = input
  await using folder = await makeBenchFolder()
  await using smallFolder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const bodies = await knownBodies(issuer, 'ES256')
  const bundled = join(folder.path, 'program')
  await bundle({ folder: bundled, programs: { practice: program } })
  const entry = join(bundled, 'practice.js')
  const launch = () => startServerProcess({ folder: folder.path, entry })
  const onProgress = (done: number) => process.stderr.write(`\r${done} leases`)

  const together = Math.min(mostTogether, Math.floor(leases / 2))
  const began = performance.now()
  const kept = new Map<string, readonly string[]>()
  let mountAccessor = ''
  for (const [{ path }, later] of [
    [smallFolder, inSmallStore],
    [folder, leases - together],
  ] as const) {
    mountAccessor = await prepare({ folder: path, entry }, issuer)
    const none = { count: 0, at: () => 0 }
    kept.set(path, await fillLeases({ folder: path, mountAccessor, later, together: none, onProgress }))
    process.stderr.write('\n')
  }
  const { size } = await stat(join(folder.path, 'gatehouse.db'))
  const filled = `${leases - together} leases written in ${((performance.now() - began) / 1000).toFixed(1)} s, database ${megabytes(size)} MB`
  const logins = loginsWith(bodies)
  const grown = await measureGrownStore({
    large: folder.path,
    small: smallFolder.path,
    entry,
    idleSeconds,
    generator,
    options,
    requests: async ({ rootToken }, path) => {
      const ids = kept.get(path) ?? []
      const asked = Array.from(
        { length: lookedUp },
        (_, index) => ids[Math.floor((index * ids.length) / lookedUp)],
      )
      return {
        'lease lookup': {
          method: 'POST',
          path: '/v1/sys/leases/lookup',
          variants: asked.map((id) => ({ token: rootToken, body: JSON.stringify({ lease_id: id }) })),
        },
        'login ES256': logins,
      }
    },
  })

  let endsAt = 0
  const at = () => {
    endsAt = Date.now() + leadMs
    return endsAt
  }
  const ids = await fillLeases({
    folder: folder.path,
    mountAccessor,
    later: 0,
    together: { count: together, at },
    onProgress,
  })
  process.stderr.write('\n')
  await using server = await launch()

  const slice = async () => {
    const [result] = await generator.run([
      jobOf({ contender: server, requests: logins, connections: usualConnections, forMs: sliceMs }),
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
  return [
    filled,
    grown,
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

/** Prepares a store for logins and leases; returns the accessor of the mount of the leases. */
async function prepare(options: ServerProcessOptions, issuer: Issuer): Promise<string> {
  await using server = await startServerProcess(options)
  await configureLogins(server.url, server.rootToken, issuer)
  await sendSuccessfully(server.url, {
    method: 'POST',
    path: 'sys/mounts/practice',
    token: server.rootToken,
    body: { type: 'practice' },
  })
  return await accessorOf(server)
}

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
