import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { type BenchCase, type BenchOptions, type Requests, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillSecrets, secretOf } from './fill-secrets.ts'
import type { Generator } from './generator.ts'
import { type MeasuredCase, measureCase } from './measure.ts'
import { configureLogins, knownBodies, logIn, loginsWith, roleName } from './pipeline-logins.ts'
import { renderTable } from './table.ts'

type SecretsInput = { readonly generator: Generator; readonly options: BenchOptions }

/** Keys that are written in turn, and the versions that each of them has before. */
const [writtenKeys, versionsBefore] = [256, 10]
const [fewListed, manyListed] = [100, 100_000]

/**
 * Measures reads, writes and lists of secrets against reads of a role and logins of the same server, in turns.
 * Ratios of processor time hold on a busy machine too.
 */
export async function measureSecrets({ generator, options }: SecretsInput): Promise<string> {
  await using folder = await makeBenchFolder()
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await prepare(folder.path, issuer)
  await fillFolder(folder.path, 'few', fewListed)
  await fillFolder(folder.path, 'many', manyListed)
  await using server = await startServerProcess({ folder: folder.path })
  const cases = await secretCases(server, issuer, options)
  const measured: MeasuredCase[] = []
  for (const one of cases) {
    measured.push(await measureCase(one, { gatehouse: server, itself: server }, generator, options))
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  return renderTable(measured)
}

const fillFolder = (folder: string, name: string, count: number) =>
  fillSecrets({ folder, mount: 'secret/', count, pathOf: (index) => `${name}/secret-${index}` })

/** A store with mounts of both versions, and logins whose tokens may use them. */
async function prepare(folder: string, issuer: Issuer): Promise<void> {
  await using server = await startServerProcess({ folder })
  const { url, rootToken: token } = server
  await configureLogins(url, token, issuer)
  const write = (path: string, body: object) => sendSuccessfully(url, { method: 'POST', path, token, body })
  await write('sys/mounts/secret', { type: 'kv-v2' })
  await write('sys/mounts/old', { type: 'kv-v1' })
  const all = 'capabilities = ["create", "update", "read", "list"]'
  await write('sys/policies/acl/bench', {
    policy: [
      'path "auth/jwt/role/*" { capabilities = ["read"] }',
      ...['secret/*', 'old/*'].map((path) => `path "${path}" { ${all} }`),
    ].join('\n'),
  })
}

async function secretCases(
  { url, rootToken }: ServerProcess,
  issuer: Issuer,
  options: BenchOptions,
): Promise<BenchCase[]> {
  const logins = await knownBodies(issuer, 'ES256')
  const [token = ''] = await logIn(url, logins.slice(0, 1))
  const write = (path: string, body: object) =>
    sendSuccessfully(url, { method: 'POST', path, token: rootToken, body })
  const addVersions = async (path: string, count: number) => {
    for (let version = 0; version < count; version += 1)
      await write(`secret/data/${path}`, { data: secretOf(version) })
  }
  await write('old/one', secretOf(0))
  await addVersions('one', 1)
  await addVersions('ten', 10)
  await write('secret/metadata/thousand', { max_versions: 1000 })
  await addVersions('thousand', 1000)
  await write('secret/metadata/hot', { max_versions: versionsBefore })
  for (let key = 0; key < writtenKeys; key += 1) {
    await write(`secret/metadata/wide/${key}`, { max_versions: 1_000_000 })
    await Promise.all([
      addVersions(`full/${key}`, versionsBefore),
      addVersions(`wide/${key}`, versionsBefore),
    ])
  }
  const tag = (
    await sendSuccessfully(url, { method: 'GET', path: 'secret/data/one', token: rootToken })
  ).headers.get('etag')

  const get = (path: string, ifNoneMatch?: string | null): Requests => ({
    method: 'GET',
    path: `/v1/${path}`,
    variants: [{ token, ...(ifNoneMatch ? { ifNoneMatch } : {}) }],
  })
  const body = JSON.stringify({ data: secretOf(1) })
  const writes = (path: string, count: number): Requests => ({
    method: 'POST',
    path: `/v1/secret/data/${path}`,
    variants: Array.from({ length: count }, (_, key) => ({
      token,
      body,
      ...(count > 1 && { path: `/v1/secret/data/${path}/${key}` }),
    })),
  })
  const against = (name: string, requests: Requests) => ({ contender: 'itself' as const, name, requests })
  const roleRead = against('role read', get(`auth/jwt/role/${roleName}`))
  const read = get('secret/data/one')
  const ownRead = against('read', read)
  const login = against('login ES256', loginsWith(logins))
  const list = (path: string): Requests => ({ ...get(path), method: 'LIST' })
  const few = list('secret/metadata/few')
  const of = (name: string, ours: Requests, rest: Pick<BenchCase, 'against' | 'aim' | 'aimP99Ratio'>) => ({
    name,
    ours,
    connections: usualConnections,
    ...rest,
  })
  return [
    of('read', read, { against: roleRead, aim: 0.9 }),
    of('read, 10 versions', get('secret/data/ten'), { against: ownRead, aim: 0.9 }),
    of('read, 1,000 versions', get('secret/data/thousand'), { against: ownRead, aim: 0.9 }),
    of('read of version 500', get('secret/data/thousand?version=500'), { against: roleRead, aim: 0.8 }),
    of('read, mount of version 1', get('old/one'), { against: roleRead, aim: 0.95 }),
    of('read, unchanged (304)', get('secret/data/one', tag), { against: ownRead, aim: 1.1 }),
    of('write, new keys', freshWrites(token, body, (options.rounds + 1) * options.freshSubjects), {
      against: login,
      aim: 1,
      aimP99Ratio: 1,
    }),
    of('write, one hot key', writes('hot', 1), { against: login, aim: 0.5 }),
    of('write, window full', writes('full', writtenKeys), {
      against: against('write, none dropped', writes('wide', writtenKeys)),
      aim: 0.8,
    }),
    of(`LIST ${fewListed} of ${fewListed}`, few, { against: roleRead, aim: 0.5 }),
    of(`LIST ${fewListed} of ${manyListed}`, list(`secret/metadata/many?limit=${fewListed}`), {
      against: against(`LIST ${fewListed} of ${fewListed}`, few),
      aim: 1 / 3,
    }),
  ]
}

/** Each writes a key of its own. */
const freshWrites = (token: string, body: string, count: number): Requests => ({
  method: 'POST',
  path: '/v1/secret/data/new',
  once: true,
  variants: Array.from({ length: count }, (_, index) => ({
    token,
    body,
    path: `/v1/secret/data/new/${index % 1000}/${index}`,
  })),
})
