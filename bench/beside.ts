import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { send, sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import { backUp } from './backup.ts'
import type { BenchOptions } from './bench-case.ts'
import { openKeptFolder } from './bench-folder.ts'
import { type BesideWork, besideWork } from './beside-work.ts'
import { fillSecrets } from './fill-secrets.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import { configureUsers } from './passwords.ts'
import { configureLogins, logIn, signLogins } from './pipeline-logins.ts'
import { fillSecretIds, secretIdMount } from './secret-ids.ts'

export type BesideInput = {
  readonly secretIds: number
  /** A folder that keeps the store for the next run. */
  readonly keep: string | undefined
  readonly generator: Generator
  readonly options: BenchOptions
}

/** In the store beside the secret ids. */
const [tokens, secrets] = [100_000, 100_000]
const [passwordsPerSecond, listedAtOnce, pollMs] = [100, 1000, 100]
const password = 'correct horse'

/** Measures reads beside everything that keeps a server busy for long, one after the other. */
export async function measureBeside({ secretIds, keep, generator, options }: BesideInput): Promise<string> {
  await using folder = await openKeptFolder(keep)
  if (!folder.isFilled) {
    await fill(folder.path, secretIds)
    await folder.markFilled()
  }
  await using server = await startServerProcess({ folder: folder.path })
  const works: Readonly<Record<string, BesideWork['work']>> = {
    [`${passwordsPerSecond} logins with a password are offered each second`]: () => offerPasswords(server),
    [`${secrets} secrets are scanned`]: () => scan(server),
    [`pages of ${listedAtOnce} of ${secretIds} secret ids are listed`]: pagesOf(server),
    'backups are made': async () => {
      await backUp(folder.path)
      return 1
    },
    'all records are sealed again under a new key': () => rotate(server),
  }
  const lines: string[] = []
  for (const [name, work] of Object.entries(works))
    lines.push(await besideWork(server, { generator, options, name, work }))
  return lines.join('\n')
}

async function fill(folder: string, secretIds: number): Promise<void> {
  await fillSecretIds(folder, secretIds)
  const like = await prepare(folder)
  const onProgress = (done: number) => process.stderr.write(`\r${done} tokens`)
  await fillTokens({ folder, like, count: tokens, onProgress })
  const pathOf = (index: number) => `team-${index % 1000}/${index}`
  await fillSecrets({ folder, mount: 'secret/', count: secrets, pathOf })
}

/** Mounts what is needed, and returns the token of a login. */
async function prepare(folder: string): Promise<string> {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using server = await startServerProcess({ folder })
  const { url, rootToken: token } = server
  await configureLogins(url, token, issuer)
  const mount = { method: 'POST', path: 'sys/mounts/secret', token, body: { type: 'kv-v2' } }
  await sendSuccessfully(url, mount)
  await configureUsers(server, 'up', { bob: { password } })
  const jwts = { algorithm: 'RS256', count: 1, subject: () => 'repo:acme/like' } as const
  const [login = ''] = await logIn(url, await signLogins(issuer, jwts))
  return login
}

/** Offers logins for a second, evenly. Those beyond what the processors can do are refused. */
async function offerPasswords({ url }: ServerProcess): Promise<number> {
  const login = { method: 'POST', path: 'auth/up/login/bob', body: { password } }
  const offered = Array.from({ length: passwordsPerSecond }, async (_, index) => {
    await wait((index * 1000) / passwordsPerSecond)
    return send(url, login)
  })
  return (await Promise.all(offered)).length
}

/** Does not parse the names: that would keep the processor from the reads that are measured. */
async function scan({ url, rootToken: token }: ServerProcess): Promise<number> {
  const answer = await fetch(`${url}/v1/secret/metadata/?scan=true`, { headers: { 'X-Vault-Token': token } })
  if ((await answer.arrayBuffer()).byteLength < secrets) throw new Error(`a scan returned ${answer.status}`)
  return secrets
}

/** Lists one page after the other, and begins anew after the last one. */
function pagesOf({ url, rootToken: token }: ServerProcess): () => Promise<number> {
  let after = ''
  return async () => {
    const path = `${secretIdMount}/role/r/secret-id?list=true&limit=${listedAtOnce}&after=${after}`
    const { body } = await send(url, { method: 'GET', path, token })
    const data = body?.['data'] as { readonly keys: readonly string[] } | undefined
    // after the last one, the answer is 404
    const keys = data?.keys ?? []
    after = keys.length < listedAtOnce ? '' : (keys.at(-1) ?? '')
    return keys.length
  }
}

/** Begins a pass over all records unless one is under way. Returns how many records it visits meanwhile. */
async function rotate(server: ServerProcess): Promise<number> {
  const { url, rootToken: token } = server
  const before = await remaining(server)
  if (before === 0) await sendSuccessfully(url, { method: 'POST', path: 'sys/rotate', token })
  await wait(pollMs)
  return Math.max(0, before - (await remaining(server)))
}

async function remaining({ url, rootToken: token }: ServerProcess): Promise<number> {
  const answer = await fetch(`${url}/v1/sys/metrics?format=prometheus`, {
    headers: { 'X-Vault-Token': token },
  })
  return Number(/^gatehouse_reseal_remaining_records (\d+)$/m.exec(await answer.text())?.[1])
}
