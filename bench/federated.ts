import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import type { Directory } from '../simulators/directory/directory.ts'
import { startDirectory } from '../simulators/directory/start-directory.ts'
import { sendSuccessfully, textIn } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchCase, type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { aimedAt } from './cloud.ts'
import type { Generator } from './generator.ts'
import { type MeasuredCase, measureCase } from './measure.ts'
import { configureLogins, logIn, roleName, signLogins } from './pipeline-logins.ts'
import { renderTable, verdict } from './table.ts'

export type FederatedInput = { generator: Generator; options: BenchOptions }

const inFlight = 8
/** One for each token in flight: a role has one request at a time for each scope. */
const roles = Array.from({ length: inFlight }, (_, index) => `job-${index}`)
const exchanges = 2000
/** As of the other workloads: the JIT compiler must have reached a steady state. */
const warmUpMs = 5000
const aimOwnMs = 10

/**
 * Assertions and kept access tokens of a federated role, against a role read of the same server; then the time
 * that tokens take which are asked for at the login service, without that service's own time.
 */
export async function measureFederated({ generator, options }: FederatedInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using directory = await startDirectory()
  setDefaultCACertificates([...getCACertificates(), directory.ca])
  await using server = await startServerProcess({ folder: folder.path, environment: aimedAt(directory) })
  await configureLogins(server.url, server.rootToken, issuer)
  const policy =
    'path "cloud/*" { capabilities = ["read"] } path "auth/jwt/role/*" { capabilities = ["read"] }'
  await write(server, 'sys/policies/acl/bench', { policy })
  const jwts = await signLogins(issuer, { algorithm: 'ES256', count: 1, subject: () => 'repo:acme/reader' })
  const [token] = await logIn(server.url, jwts)
  const scope = `${directory.resourceManagerUrl}/.default`
  await configureRole(server, directory)
  const get = (path: string): Requests => ({
    method: 'GET',
    path: `/v1/${path}`,
    variants: [{ ...(token !== undefined && { token }) }],
  })
  const against = (name: string, path: string, aim: number): BenchCase => ({
    name,
    aim,
    connections: usualConnections,
    ours: get(path),
    against: { contender: 'itself', requests: get(`auth/jwt/role/${roleName}`), name: 'role read' },
  })
  const contender = { port: Number(new URL(server.url).port), pid: server.pid }
  const measured: MeasuredCase[] = []
  const [role = ''] = roles
  for (const one of [
    against('federated creds', `cloud/creds/${role}`, 0.5),
    against('kept token', `cloud/token/${role}?scope=${encodeURIComponent(scope)}`, 0.8),
  ])
    measured.push(await measureCase(one, { gatehouse: contender, itself: contender }, generator, options))
  return `${renderTable(measured)}\n${await compareExchanges(server, scope)}`
}

const write = ({ url, rootToken: token }: ServerProcess, path: string, body: object) =>
  sendSuccessfully(url, { method: 'POST', path, token, body })

async function configureRole(server: ServerProcess, directory: Directory): Promise<void> {
  const { subscriptionId: subscription_id, tenantId: tenant_id } = directory
  await write(server, 'cloud/config', { subscription_id, tenant_id })
  const { url, rootToken: token } = server
  const mount = await sendSuccessfully(url, { method: 'GET', path: 'sys/mounts/cloud', token })
  const accessor = textIn(mount, 'data', 'accessor')
  for (const role of roles) {
    const { id, appId } = directory.admin.addApplication({ displayName: role })
    const subject = `plugin-identity:root:secret:${accessor}:role:${role}`
    directory.admin.addTrust(id, { issuer: `${url}/v1/identity/oidc/plugins`, subject })
    await write(server, `cloud/roles/${role}`, { credential_type: 'federated', federated_client_id: appId })
  }
}

/** Tokens asked for anew through Gatehouse, and the same exchanges without it. */
async function compareExchanges(server: ServerProcess, scope: string): Promise<string> {
  const { url, rootToken: token } = server
  const issued = await sendSuccessfully(url, { method: 'GET', path: `cloud/creds/${roles[0]}`, token })
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    scope,
    ...Object.fromEntries(
      ['client_id', 'client_assertion', 'client_assertion_type'].map((name) => [
        name,
        textIn(issued, 'data', name),
      ]),
    ),
  })
  const direct = () => fetch(textIn(issued, 'data', 'token_endpoint'), { method: 'POST', body: form })
  const through = (role = '') =>
    sendSuccessfully(url, {
      method: 'POST',
      path: `cloud/token/${role}`,
      token,
      body: { scope, fresh: true },
    })
  await timed(through, { forMs: warmUpMs })
  await timed(direct, { forMs: warmUpMs })
  const ours = await timed(through, { count: exchanges })
  const theirs = await timed(direct, { count: exchanges })
  const own = p99(ours) - p99(theirs)
  return `${exchanges} tokens not kept, ${inFlight} in flight: p99 ${p99(ours).toFixed(1)} ms, of these ${p99(theirs).toFixed(1)} ms of the login service; own time ${own.toFixed(1)} ms (${verdict(own <= aimOwnMs, `≤ ${aimOwnMs} ms`)})`
}

/** Milliseconds of each call; `count` of them, or those that begin in time. */
async function timed(
  call: (role?: string) => Promise<unknown>,
  { count = Number.POSITIVE_INFINITY, forMs = Number.POSITIVE_INFINITY },
): Promise<number[]> {
  const times: number[] = []
  const endsAt = performance.now() + forMs
  let begun = 0
  const work = async (role: string) => {
    while (begun++ < count && performance.now() < endsAt) {
      const at = performance.now()
      await call(role)
      times.push(performance.now() - at)
    }
  }
  await Promise.all(roles.map(work))
  return times
}

const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
