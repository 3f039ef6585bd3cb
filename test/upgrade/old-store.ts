import { createPrivateKey, sign } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import { z } from 'zod'
import { readConfig } from '../../src/config/config.ts'
import { startServer } from '../../src/server/server.ts'
import { Client } from '../support/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/**
 * Stores as earlier versions left them after an orderly stop: `first` by commit 1b27312, the first one whose server
 * ran on a database (version 0.1), `0.2.0` and later ones by these versions (since 0.3.0 with `fill-store.ts`), and `clear-names` by commit 528a0dd4, the last one before the names of
 * users, secrets of version 1 and cubbyholes were encrypted. Each was filled through the API of its version at the time `now`
 * (milliseconds) and has tokens for 25 days or more; the JSON file has what is needed to use it.
 */
export type OldVersion = 'first' | 'clear-names' | '0.2.0' | '0.3.0'

/** Releases whose stores this version opens. */
export const releases = ['0.2.0', '0.3.0'] as const

const factFields = z.looseObject({
  now: z.number(),
  sealKey: z.string(),
  /** PKCS #8, base64: signs JWTs for the role `ci`. */
  signingKey: z.string(),
  root: z.string(),
  login: z.string(),
  entity: z.string(),
  parent: z.string(),
  maker: z.string(),
  child: z.string(),
  counted: z.string(),
  periodic: z.string(),
  revoked: z.string(),
})
const laterFields = factFields.extend({
  group: z.string(),
  inner: z.string(),
  batch: z.string(),
  wrapping: z.string(),
  lease: z.string(),
  cluster: z.string(),
  subscription: z.string(),
})
const releasedFields = laterFields.extend({ roleId: z.string(), secretId: z.string() })
export type Facts = z.output<typeof factFields>
export type LaterFacts = z.output<typeof laterFields>
/** Of releases from 0.3.0 on. */
export type ReleasedFacts = z.output<typeof releasedFields>

const folder = join(import.meta.dirname, 'stores')

export const factsOf = async (version: OldVersion): Promise<Facts> =>
  factFields.parse(JSON.parse(await readFile(join(folder, `${version}.json`), 'utf8')))

export const laterFactsOf = async (version: (typeof releases)[number]): Promise<LaterFacts> =>
  laterFields.parse(JSON.parse(await readFile(join(folder, `${version}.json`), 'utf8')))

export const releasedFactsOf = async (version: '0.3.0'): Promise<ReleasedFacts> =>
  releasedFields.parse(JSON.parse(await readFile(join(folder, `${version}.json`), 'utf8')))

const clearNamesFields = factFields
  .pick({ now: true, sealKey: true, root: true })
  .extend({ inner: z.string() })

export const clearNamesFacts = async (): Promise<z.output<typeof clearNamesFields>> =>
  clearNamesFields.parse(JSON.parse(await readFile(join(folder, 'clear-names.json'), 'utf8')))

/** Writes the database of that version. */
export async function unpackStore(version: OldVersion, path: string): Promise<void> {
  await writeFile(path, gunzipSync(await readFile(join(folder, `${version}.db.gz`))), { mode: 0o600 })
}

/** This version on the store of an older one, a minute after it was filled. */
export async function upgraded(version: OldVersion) {
  await using opened = new AsyncDisposableStack()
  const { path, file } = opened.use(await temporaryFolder())
  const facts = await factsOf(version)
  const database = file('gatehouse.db')
  await unpackStore(version, database)
  const lines: Record<string, unknown>[] = []
  const log = pino(
    new Writable({
      write: (text, _encoding, done) => {
        lines.push(JSON.parse(String(text)))
        done()
      },
    }),
  )
  const clock = new FakeClock(facts.now + 60_000)
  const settings = {
    GATEHOUSE_LISTEN: '127.0.0.1:0',
    GATEHOUSE_STORAGE: `sqlite:${database}`,
    GATEHOUSE_SEAL_KEY: facts.sealKey,
  }
  const start = async () =>
    startServer(readConfig(settings, { dev: false, warn: () => {} }), {
      log,
      clock,
      rootToken: { keep: () => {}, tell: () => {} },
    })
  let server = await start()
  opened.defer(() => server[Symbol.asyncDispose]())
  const held = opened.move()
  return {
    facts,
    folder: path,
    lines,
    clock,
    database,
    as: (token: string) => new Client(server.url, token),
    anonymous: () => new Client(server.url),
    /** A JWT of the issuer that the role `ci` knows. */
    jwt: (claims: object = {}) => signedJwt(facts, claims),
    stop: () => server[Symbol.asyncDispose](),
    start: async () => {
      server = await start()
    },
    restart: async () => {
      await server[Symbol.asyncDispose]()
      server = await start()
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

function signedJwt({ signingKey, now }: Facts, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const seconds = now / 1000
  const all = { iss: 'ci', sub: 'build-7', aud: 'gatehouse', ref: 'main', iat: seconds, exp: seconds + 3600 }
  const input = `${part({ alg: 'ES256', typ: 'JWT' })}.${part({ ...all, ...claims })}`
  const key = createPrivateKey({ key: Buffer.from(signingKey, 'base64'), format: 'der', type: 'pkcs8' })
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
