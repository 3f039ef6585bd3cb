import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startDirectory } from '../simulators/directory/start-directory.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { aimedAt, configureCloud, rate } from './cloud.ts'
import type { Generator } from './generator.ts'
import { jobOf } from './measure.ts'
import { configureLogins, knownBodies, loginsWith, roleName } from './pipeline-logins.ts'
import { readProcessFigures } from './process-figures.ts'
import { verdict } from './table.ts'

export type StaticRolesInput = { roles: number; generator: Generator }

const inFlight = 8
const sliceMs = 1000
const slicesBefore = 4
const readRounds = 4

/**
 * Reads the password of one of `roles` static roles, in turns with a role of a JWT mount. Then lets all of them be
 * due in the same minute, during logins. Also starts the server with and without them.
 */
export async function measureStaticRoles({ roles, generator }: StaticRolesInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using directory = await startDirectory()
  const start = async () => {
    const begun = performance.now()
    const server = await startServerProcess({ folder: folder.path, environment: aimedAt(directory) })
    return { server, ms: performance.now() - begun }
  }
  const first = await start()
  await configureLogins(first.server.url, first.server.rootToken, issuer)
  await configureCloud(first.server, directory)
  await first.server.stop()
  const empty = await start()
  await writeRoles(empty.server, roles, (at) => ({
    application_object_id: directory.admin.addApplication({ displayName: `static-${at}` }).id,
  }))
  await empty.server.stop()
  const { server, ms: startMs } = await start()
  await using _server = server

  const slice = async (requests: Parameters<typeof jobOf>[0]['requests']) => {
    const [result] = await generator.run([
      jobOf({ contender: server, requests, connections: usualConnections, forMs: sliceMs }),
    ])
    if (result === undefined) throw new Error('the load generator returned no result')
    return result
  }
  const readOf = (path: string) => ({ method: 'GET', path, variants: [{ token: server.rootToken }] })
  const [password, role] = [readOf('/v1/cloud/static-creds/role-1'), readOf(`/v1/auth/jwt/role/${roleName}`)]
  const [passwordReads, roleReads]: [Slices, Slices] = [[], []]
  for (let round = 0; round <= readRounds; round++) {
    const [ours, theirs] = [await slice(password), await slice(role)]
    // the first round is a warm-up
    if (round === 0) continue
    passwordReads.push(ours)
    roleReads.push(theirs)
  }
  const ratio = rate(passwordReads) / rate(roleReads)

  const bodies = await knownBodies(issuer, 'ES256')
  const logins = loginsWith(bodies)
  await slice(logins)
  await slice(logins)
  const due = new Date(Math.ceil(Date.now() / 60_000 + 1) * 60_000)
  await writeRoles(server, roles, () => ({
    rotation_schedule: `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`,
  }))
  const before: Slices = []
  while (before.length < slicesBefore || Date.now() < due.getTime() - 2 * sliceMs)
    before.push(await slice(logins))
  directory.journal.clear()
  const made = () => directory.journal.entries({ operation: 'addApplicationPassword' }).length
  while (made() === 0) await slice(logins)
  const begun = performance.now()
  const cpuBefore = await cpuSeconds(server)
  const during: Slices = []
  while (made() < roles) during.push(await slice(logins))
  const took = (performance.now() - begun) / 1000
  const [rateBefore, rateDuring] = [rate(before), rate(during)]
  const kept = rateDuring / rateBefore
  return [
    `start: ${Math.round(empty.ms)} ms without static roles, ${Math.round(startMs)} ms with ${roles}`,
    `static-creds ${Math.round(rate(passwordReads))}/s, role read ${Math.round(rate(roleReads))}/s: ${ratio.toFixed(2)} (${verdict(ratio >= 0.9, '≥ 0.90')})`,
    `${roles} rotations due in one minute took ${took.toFixed(1)} s, with the server at ${(((await cpuSeconds(server)) - cpuBefore) / took).toFixed(2)} cores`,
    `logins before ${Math.round(rateBefore)}/s, during rotations ${Math.round(rateDuring)}/s: ${kept.toFixed(2)} (${verdict(kept >= 0.9, '≥ 0.90')})`,
  ].join('\n')
}

type Slices = { readonly requests: number; readonly seconds: number }[]

async function writeRoles(
  { url, rootToken: token }: ServerProcess,
  roles: number,
  bodyOf: (at: number) => object,
): Promise<void> {
  let begun = 0
  const work = async () => {
    for (let at = begun++; at < roles; at = begun++)
      await sendSuccessfully(url, {
        method: 'POST',
        path: `cloud/static-roles/role-${at}`,
        token,
        body: bodyOf(at),
      })
  }
  await Promise.all(Array.from({ length: inFlight }, work))
}

async function cpuSeconds({ pid }: ServerProcess): Promise<number> {
  return (await readProcessFigures(pid))?.cpuSeconds ?? Number.NaN
}
