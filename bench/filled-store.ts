import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Issuer, startIssuer } from '../simulators/ci-issuer/issuer.ts'
import { startServerProcess } from '../simulators/server-process.ts'
import { type BenchOptions, usualConnections } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { fillTokens } from './fill-tokens.ts'
import type { Generator } from './generator.ts'
import { measureCase } from './measure.ts'
import { configureLogins, logIn, loginPath, signLogins } from './pipeline-logins.ts'
import { measureStart } from './start.ts'
import { megabytes, renderTable, verdict } from './table.ts'

export type FilledStoreInput = {
  tokens: number
  idleSeconds: number
  generator: Generator
  options: BenchOptions
}

const knownJwts = 256

/**
 * Measures a store with many tokens: start time, memory, and the login rate against an empty store, in turns.
 */
export async function measureFilledStore({
  tokens,
  idleSeconds,
  generator,
  options,
}: FilledStoreInput): Promise<string> {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using emptyFolder = await makeBenchFolder()
  await using fullFolder = await makeBenchFolder()
  const bodies = await signLogins(issuer, {
    algorithm: 'ES256',
    count: knownJwts,
    subject: () => 'repo:acme/shop:ref:refs/heads/main',
  })
  await prepare(emptyFolder.path, issuer, bodies)
  const like = await prepare(fullFolder.path, issuer, bodies)
  const startedAt = performance.now()
  await fillTokens({
    folder: fullFolder.path,
    like,
    count: tokens,
    onProgress: (done) => process.stderr.write(`\r${done} tokens`),
  })
  process.stderr.write('\n')
  const filledIn = `${tokens} tokens written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`
  const { size } = await stat(join(fullFolder.path, 'gatehouse.db'))

  const start = await measureStart(fullFolder.path, idleSeconds)
  await using full = await startServerProcess({ folder: fullFolder.path })
  await using empty = await startServerProcess({ folder: emptyFolder.path })
  const requests = { method: 'POST', path: loginPath, variants: bodies.map((body) => ({ body })) }
  const logins = await measureCase(
    {
      name: 'login ES256, full store',
      connections: usualConnections,
      ours: requests,
      against: { contender: 'empty', requests },
      aim: 0.9,
    },
    { gatehouse: full, empty },
    generator,
    options,
  )
  return [
    `${filledIn}, database ${megabytes(size)} MB`,
    `ready after ${Math.round(start.readyMs)} ms (${verdict(start.readyMs <= 1000, '≤ 1,000 ms')})`,
    `RSS ${megabytes(start.rssBytes)} MB, after ${idleSeconds} s idle ${megabytes(start.idleRssBytes)} MB (${verdict((start.idleRssBytes ?? 0) <= 250e6, '≤ 250 MB')})`,
    renderTable([logins]),
  ].join('\n')
}

/** Prepares a store with the configured mount and one token; returns that token. */
async function prepare(folder: string, issuer: Issuer, bodies: readonly string[]): Promise<string> {
  await using server = await startServerProcess({ folder })
  await configureLogins(server.url, server.rootToken, issuer)
  const [token] = await logIn(server.url, bodies.slice(0, 1))
  if (token === undefined) throw new Error('no login was made')
  return token
}
