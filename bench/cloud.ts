import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import type { Directory } from '../simulators/directory/directory.ts'
import { startDirectory } from '../simulators/directory/start-directory.ts'
import { send, sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { readerAt } from './chaos-world.ts'
import type { Generator } from './generator.ts'
import { jobOf } from './measure.ts'
import { configureLogins, knownBodies, loginsWith } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { verdict } from './table.ts'

export type CloudInput = { credentials: number; generator: Generator }

const inFlight = 8
const warmUp = 16
const sliceMs = 1000
const slicesBefore = 4
const besidePairs = 8
const pollMs = 100
const poolSize = 50
const poolRounds = 10
/** Rate limit of the directory while credentials are revoked; each revocation takes two calls. */
const upstreamPerSecond = 200
const callsPerRevocation = 2

/**
 * Issues `credentials` credentials, 8 at a time, from a cloud that responds at once. Then makes certificates, 8 at
 * a time, during logins, and revokes the credentials, at the rate limit of the cloud, also during logins.
 */
export async function measureCloud({ credentials, generator }: CloudInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using directory = await startDirectory()
  await using server = await startServerProcess({ folder: folder.path, environment: aimedAt(directory) })
  await configureLogins(server.url, server.rootToken, issuer)
  await configureCloud(server, directory)
  await makeCredentials(server, 'ci', untilMade(warmUp))

  const cpuBefore = await cpuSeconds(server)
  const latencies = await makeCredentials(server, 'ci', untilMade(credentials))
  const cpuMs = ((await cpuSeconds(server)) - cpuBefore) * (1000 / credentials)

  const ready = await takeFromPool(server)

  const bodies = await knownBodies(issuer, 'ES256')
  const requests = loginsWith(bodies)
  const slice = async () => {
    const [result] = await generator.run([
      jobOf({ contender: server, requests, connections: usualConnections, forMs: sliceMs }),
    ])
    if (result === undefined) throw new Error('the load generator returned no result')
    return result
  }
  await slice()
  const before = [await slice()]
  while (before.length < slicesBefore) before.push(await slice())
  const besideCertificates = await compareBeside(slice, () => {
    let isOver = false
    const making = makeCredentials(server, 'certified', () => !isOver)
    return () => {
      isOver = true
      return making
    }
  })
  await sendSuccessfully(server.url, {
    method: 'PUT',
    path: 'sys/leases/revoke-prefix/cloud/creds/certified',
    token: server.rootToken,
  })

  directory.change({ rateLimits: { directory: { requests: upstreamPerSecond, perSeconds: 1 } } })
  const begun = performance.now()
  // not awaited: the response for very many leases would time out
  void send(server.url, {
    method: 'PUT',
    path: 'sys/leases/revoke-prefix/cloud/creds/ci',
    token: server.rootToken,
    body: { sync: false },
  }).catch(() => undefined)
  const during = [await slice()]
  while (await hasLeases(server)) during.push(await slice())
  const goneAfter = (performance.now() - begun) / 1000
  const all = credentials + warmUp
  const [rateBefore, rateDuring] = [rate(before), rate(during)]
  const { alone, beside, latencies: certificates, perSecond } = besideCertificates
  const kept = rate(beside) / rate(alone)
  return [
    `${credentials} credentials, ${inFlight} at a time: p50 ${median(latencies).toFixed(1)} ms with the cloud's own time, server CPU ${cpuMs.toFixed(1)} ms each (${verdict(cpuMs <= 25, '≤ 25 ms')})`,
    `${ready.length} credentials that were made ahead, ${inFlight} at a time, each refilled beside them: p50 ${median(ready).toFixed(1)} ms, p99 ${quantile(ready, 0.99).toFixed(1)} ms (${verdict(quantile(ready, 0.99) <= 300, '≤ 300 ms')})`,
    `${all} revoked together took ${goneAfter.toFixed(1)} s; the cloud's rate limit allows ${((all * callsPerRevocation) / upstreamPerSecond).toFixed(1)} s`,
    `logins before ${Math.round(rateBefore)}/s, during revocation ${Math.round(rateDuring)}/s: ${(rateDuring / rateBefore).toFixed(2)} (${verdict(rateDuring / rateBefore >= 0.7, '≥ 0.70')})`,
    `logins ${Math.round(rate(alone))}/s, in turns with ${Math.round(rate(beside))}/s while ${perSecond.toFixed(1)} certificates were made per second, ${inFlight} at a time, p50 ${median(certificates).toFixed(0)} ms: ${kept.toFixed(2)} (${verdict(kept >= 0.9, '≥ 0.90')})`,
    `left upstream: ${directory.debris().length}`,
  ].join('\n')
}

type Slice = { readonly requests: number; readonly seconds: number }

/** Logins alone and beside certificates in turns, so that a disturbance affects both. `make` begins, and returns the end. */
async function compareBeside(slice: () => Promise<Slice>, make: () => () => Promise<number[]>) {
  const [alone, beside, latencies]: [Slice[], Slice[], number[]] = [[], [], []]
  while (alone.length < besidePairs) {
    alone.push(await slice())
    const end = make()
    beside.push(await slice())
    latencies.push(...(await end()))
  }
  const seconds = beside.reduce((sum, one) => sum + one.seconds, 0)
  return { alone, beside, latencies, perSecond: latencies.length / seconds }
}

/** Settings of a server that uses this directory. */
export const aimedAt = (directory: Directory) => ({
  CLOUD_AUTHORITY_HOST: directory.authorityUrl,
  CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
  CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
  CLOUD_CA_FILE: directory.caFile,
})

export async function configureCloud(
  { url, rootToken: token }: ServerProcess,
  directory: Directory,
): Promise<void> {
  const root = { client_id: directory.rootClientId, client_secret: directory.rootClientSecret }
  const body = { subscription_id: directory.subscriptionId, tenant_id: directory.tenantId, ...root }
  await sendSuccessfully(url, { method: 'POST', path: 'cloud/config', token, body })
  await sendSuccessfully(url, {
    method: 'POST',
    path: 'cloud/roles/ci',
    token,
    body: { cloud_roles: readerAt(directory, 'web'), ttl: '10h' },
  })
  await sendSuccessfully(url, {
    method: 'POST',
    path: 'cloud/roles/certified',
    token,
    body: { cloud_roles: readerAt(directory, 'web'), ttl: '10h', credential_type: 'certificate' },
  })
  await sendSuccessfully(url, {
    method: 'POST',
    path: 'cloud/roles/ready',
    token,
    body: { cloud_roles: readerAt(directory, 'web'), ttl: '10h', pool: poolSize },
  })
}

/** Whether another one of so many may begin. */
const untilMade = (count: number) => {
  let begun = 0
  return () => begun++ < count
}

/** Returns the latency of each, in milliseconds. */
async function makeCredentials(
  { url, rootToken: token }: ServerProcess,
  role: string,
  mayBegin: () => boolean,
): Promise<number[]> {
  const latencies: number[] = []
  const work = async () => {
    while (mayBegin()) {
      const at = performance.now()
      await sendSuccessfully(url, { method: 'GET', path: `cloud/creds/${role}`, token })
      latencies.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return latencies
}

async function cpuSeconds({ pid }: ServerProcess): Promise<number> {
  return (await readProcessFigures(pid))?.cpuSeconds ?? Number.NaN
}

async function hasLeases({ url, rootToken: token }: ServerProcess): Promise<boolean> {
  await wait(pollMs)
  return (
    (await send(url, { method: 'GET', path: 'sys/leases/lookup/cloud/creds/ci?list=true&limit=1', token }))
      .status === 200
  )
}

/** Waits for a full pool, takes all of it, and so on. Returns the latency of each, in milliseconds. */
async function takeFromPool(server: ServerProcess): Promise<number[]> {
  const { url, rootToken: token } = server
  const latencies: number[] = []
  for (let round = 0; round < poolRounds; round++) {
    for (;;) {
      const { body } = await send(url, { method: 'GET', path: 'cloud/pool', token })
      if ((body?.data as { idle?: number } | undefined)?.idle === poolSize) break
      await wait(pollMs)
    }
    latencies.push(...(await makeCredentials(server, 'ready', untilMade(poolSize))))
  }
  await sendSuccessfully(url, { method: 'POST', path: 'cloud/roles/ready', token, body: { pool: 0 } })
  await sendSuccessfully(url, { method: 'PUT', path: 'sys/leases/revoke-prefix/cloud/creds/ready', token })
  return latencies
}

const quantile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
const median = (values: number[]) => quantile(values, 0.5)
export const rate = (slices: readonly { requests: number; seconds: number }[]) =>
  slices.reduce((total, { requests }) => total + requests, 0) /
  slices.reduce((total, { seconds }) => total + seconds, 0)
