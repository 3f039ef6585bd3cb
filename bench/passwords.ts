import { argon2Sync } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { clientTokenOf, send, sendSuccessfully } from '../simulators/operator.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import type { Generator } from './generator.ts'
import type { LoadResult } from './load.ts'
import { jobOf, median } from './measure.ts'
import { configureLogins, knownBodies, loginsWith } from './pipeline-logins.ts'
import { verdict } from './table.ts'

const passwordsPerSecond = 100
/** Enough that those which wait for a hash do not slow down the others. */
const passwordConnections = 128
const floodConnections = 200
const [aimRate, aimP99, aimSpread] = [0.9, 2, 0.1]
const [callerAddress, floodAddress] = ['127.0.0.2', '127.0.0.3']

type Server = Awaited<ReturnType<typeof startServerProcess>>
type BenchInput = { readonly generator: Generator; readonly options: BenchOptions }

const post = (path: string, variants: Requests['variants']): Requests => ({ method: 'POST', path, variants })
const rateOf = ({ requests, seconds }: LoadResult) => requests / seconds
const successesOf = ({ requests, failures }: LoadResult) =>
  requests - Object.values(failures).reduce((sum, count) => sum + count, 0)

/** A mount with one user, who is never locked. */
export async function configureUsers(
  { url, rootToken: token }: Server,
  path: string,
  users: object,
): Promise<void> {
  const write = (at: string, body: object) => sendSuccessfully(url, { method: 'POST', path: at, token, body })
  await write(`sys/auth/${path}`, { type: 'userpass' })
  for (const [name, user] of Object.entries(users)) await write(`auth/${path}/users/${name}`, user as object)
}

/** The time of a processor that a hash takes. */
function hashMs(): number {
  const input = {
    message: 'x',
    nonce: Buffer.alloc(16),
    memory: 19_456,
    passes: 2,
    parallelism: 1,
    tagLength: 32,
  }
  const hashes = 20
  argon2Sync('argon2id', input)
  const before = process.cpuUsage()
  for (let hash = 0; hash < hashes; hash += 1) argon2Sync('argon2id', input)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / hashes
}

/**
 * Measures JWT logins and reads, in turns alone and beside 100 logins with a password per second; and the latency
 * of reads, and logins of another address, beside a flood of logins. Needs a system where all of 127.0.0.0/8 is
 * loopback.
 */
export async function measurePasswords({ generator, options }: BenchInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using server = await startServerProcess({ folder: folder.path })
  await configureLogins(server.url, server.rootToken, issuer)
  await configureUsers(server, 'up', { bob: { password: 'correct horse' } })
  const bodies = await knownBodies(issuer, 'RS256')
  const [first = ''] = bodies
  const login = { method: 'POST', path: 'auth/jwt/login', body: JSON.parse(first) as object }
  const token = clientTokenOf(await send(server.url, login))
  const forMs = options.seconds * 1000
  const logins = loginsWith(bodies)
  const reads = { method: 'GET', path: '/v1/auth/token/lookup-self', variants: [{ token }] }
  const passwords = post('/v1/auth/up/login/bob', [{ body: '{"password":"correct horse"}' }])
  const jobFor = (requests: Requests, connections: number, more: object = {}) =>
    jobOf({ contender: server, requests, connections, forMs, ...more })
  const ms = hashMs()
  const lines: string[] = [
    `a hash takes ${ms.toFixed(0)} ms of a processor: ${passwordsPerSecond} per second need ${((ms * passwordsPerSecond) / 1000).toFixed(1)} of the ${availableParallelism()} here; those beyond are refused`,
  ]
  for (const [name, requests] of [
    ['JWT logins', logins],
    ['reads', reads],
  ] as const) {
    const work = jobFor(requests, usualConnections)
    const beside = jobFor(passwords, passwordConnections, {
      perSecond: passwordsPerSecond,
      from: callerAddress,
    })
    await generator.run([{ ...work, forMs: Math.max(forMs, 5000) }])
    const rounds: { alone: number; beside: number; asked: number; served: number }[] = []
    for (let round = 0; round < options.rounds; round += 1) {
      const [alone] = await generator.run([work])
      const [both, asked] = await generator.run([work, beside])
      if (alone === undefined || both === undefined || asked === undefined) throw new Error('no result')
      rounds.push({
        alone: rateOf(alone),
        beside: rateOf(both),
        asked: rateOf(asked),
        served: successesOf(asked) / asked.seconds,
      })
    }
    // neighbours in time are compared: the machine is not equally fast all the time
    const ratio = median(rounds.map((round) => round.beside / round.alone))
    const of = (key: 'alone' | 'beside' | 'asked' | 'served') =>
      Math.round(median(rounds.map((round) => round[key])))
    lines.push(
      `${name} beside ${of('asked')} logins with a password per second (${of('served')} served): ${of('beside')}/s, alone ${of('alone')}/s: ${ratio.toFixed(2)} (${verdict(ratio >= aimRate, `≥ ${aimRate}`)})`,
    )
  }
  const idle = jobFor(reads, 1, { perSecond: 200, from: callerAddress })
  const flood = jobFor(post('/v1/auth/up/login/x', [{ body: '{"password":"guess"}' }]), floodConnections, {
    from: floodAddress,
  })
  const other = jobFor(passwords, 1, { perSecond: 2, from: callerAddress })
  const p99s: { idle: number; flooded: number; flood: number; served: number; asked: number }[] = []
  for (let round = 0; round < options.rounds; round += 1) {
    const [alone] = await generator.run([idle])
    const [flooded, floodResult, others] = await generator.run([idle, flood, other])
    if (alone === undefined || flooded === undefined || floodResult === undefined || others === undefined)
      throw new Error('no result')
    p99s.push({
      idle: alone.p99Ms,
      flooded: flooded.p99Ms,
      flood: rateOf(floodResult),
      served: successesOf(others),
      asked: others.requests,
    })
  }
  const ofP99 = (key: 'idle' | 'flooded' | 'flood' | 'served' | 'asked') =>
    median(p99s.map((round) => round[key]))
  const ratio = median(p99s.map(({ idle: alone, flooded }) => flooded / alone))
  lines.push(
    `reads beside a flood of ${floodConnections} connections (${Math.round(ofP99('flood'))} logins/s): p99 ${ofP99('flooded').toFixed(1)} ms, alone ${ofP99('idle').toFixed(1)} ms: ${ratio.toFixed(1)} (${verdict(ratio <= aimP99, `≤ ${aimP99}`)})`,
    `logins of another address beside it: ${ofP99('served')} of ${ofP99('asked')} (${verdict(ofP99('served') === ofP99('asked'), 'all')})`,
  )
  return lines.join('\n')
}

const shuffled = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item)

/** bcrypt hashes of `correct horse`. */
const imported = {
  'bcrypt 5': '$2b$05$PEz0CKTeX13TeK5zOBK12e1CE4FDuO.s7boBYbZ3RA3pHdT7hb1/q',
  'bcrypt 12': '$2b$12$PEz0CKTeX13TeK5zOBK12e1CE4FDuO.s7boBYbZ3RA3pHdT7hb1/q',
}

/** Measures how long refusals take, of names that nobody has and of every kind of hash, in turns. */
export async function measurePasswordTimes({ options }: { readonly options: BenchOptions }): Promise<string> {
  await using folder = await makeBenchFolder()
  const environment = { GATEHOUSE_USER_LOCKOUT: 'off' }
  await using server = await startServerProcess({ folder: folder.path, environment })
  const own = { password: 'correct horse' }
  await configureUsers(server, 'plain', { own })
  await configureUsers(server, 'mixed', {
    own,
    five: { password_hash: imported['bcrypt 5'] },
    twelve: { password_hash: imported['bcrypt 12'] },
  })
  const refusals = options.seconds >= 3 ? 200 : 40
  const line = async (mount: string, names: readonly string[]) => {
    const times = names.map((name) => [name, [] as number[]] as const)
    for (let refusal = 0; refusal < refusals; refusal += 1) {
      // in any order: one refusal may delay the next one
      for (const [name, taken] of shuffled(times)) {
        const startedAt = performance.now()
        const path = `auth/${mount}/login/${name}`
        const { status } = await send(server.url, { method: 'POST', path, body: { password: 'wrong' } })
        if (status !== 400) throw new Error(`a wrong password was answered with ${status}`)
        taken.push(performance.now() - startedAt)
      }
    }
    const medians = times.map(([name, taken]) => [name, median(taken)] as const)
    const all = medians.map(([, time]) => time)
    const spread = Math.max(...all) / Math.min(...all) - 1
    const shown = medians.map(([name, time]) => `${name} ${time.toFixed(1)} ms`).join(', ')
    return `${refusals} refusals each, medians: ${shown}: within ${(spread * 100).toFixed(1)} % (${verdict(spread <= aimSpread, `≤ ${aimSpread * 100} %`)})`
  }
  return `${await line('plain', ['unknown', 'own'])}\n${await line('mixed', ['unknown', 'own', 'five', 'twelve'])}`
}
