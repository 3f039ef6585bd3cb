import { expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { startProcess } from '../support/process.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { nextRelease, startCodeIn } from './older-code.ts'

type Replica = AsyncDisposable & {
  readonly anonymous: Client
  as(token: string): Client
  stop(): Promise<{ readonly code: number | null }>
}

const next = productVersion.replace(/\.(\d+)\.\d+$/, (_, minor: string) => `.${Number(minor) + 1}.0`)

/** Sends requests to servers in turn, as a balancer does, until it is stopped. */
class Load {
  readonly failed: string[] = []
  /** Words that servers have acknowledged, by the paths of their secrets. */
  readonly written = new Map<string, string>()
  /** Answered requests. */
  answered = 0
  readonly #underWay = new Map<Replica, number>()
  readonly #token: string
  #servers: readonly Replica[] = []
  #turn = 0
  #isOver = false

  constructor(token: string) {
    this.#token = token
  }

  /** Resolves when other servers have no request any more. */
  async use(...servers: readonly Replica[]): Promise<void> {
    const others = this.#servers.filter((server) => !servers.includes(server))
    this.#servers = servers
    await expect.poll(() => others.map((server) => this.#underWay.get(server))).toEqual(others.map(() => 0))
  }

  /** Resolves when so many more requests have been answered. */
  async more(count: number): Promise<void> {
    const enough = this.answered + count
    await expect.poll(() => this.answered, { timeout: 120_000 }).toBeGreaterThan(enough)
  }

  /** Each round writes, logs in, and reads what it wrote with what it got, at whichever server is next. */
  async run(name: string): Promise<void> {
    for (let round = 0; !this.#isOver; round++) {
      const path = `secret/data/${name}/${round}`
      const word = `${name} ${round}`
      if ((await this.#send(200, (root) => root.write(path, { data: { word } }))) !== undefined)
        this.written.set(path, word)
      const login = await this.#send(200, (root) =>
        root.write('auth/token/create', { policies: ['reader'], ttl: '1h' }),
      )
      const token = String(login?.body.auth?.['client_token'])
      const read = await this.#send(200, (root) => root.with(token).read(path))
      if (read !== undefined && String(read.body.data?.['data']?.['word']) !== word)
        this.failed.push(`${path} has another word`)
      await this.#send(204, (root) => root.with(token).write('auth/token/revoke-self'))
    }
  }

  stop(): void {
    this.#isOver = true
  }

  async #send(status: number, call: (root: Client) => ReturnType<Client['read']>) {
    const server = this.#servers[this.#turn++ % this.#servers.length]
    if (server === undefined) throw new Error('no server is in use')
    this.#underWay.set(server, (this.#underWay.get(server) ?? 0) + 1)
    try {
      const answer = await call(server.as(this.#token))
      this.answered++
      if (answer.status === status) return answer
      this.failed.push(`${answer.status} for ${status}: ${answer.text}`)
    } catch (error) {
      this.failed.push(String(error))
    } finally {
      this.#underWay.set(server, (this.#underWay.get(server) ?? 1) - 1)
    }
    return undefined
  }
}

test('two servers are replaced by those of the next release under load, one goes back, and none of the requests fails', {
  timeout: 300_000,
}, async () => {
  await using folder = await temporaryFolder()
  await using code = await nextRelease(next)
  await using ends = new AsyncDisposableStack()
  const database = await newDatabase()
  const settings = (name: string) => ({
    ...{ STORAGE: database, SEAL_KEY: '5e'.repeat(32), REPLICA_NAME: name },
    ...{ POSTGRES_POOL: '3', UI: 'false' },
  })
  const ofThis = async (name: string) =>
    ends.use(await startProcess({ folder: folder.path, settings: settings(name) }))
  const ofNext = async (name: string) =>
    ends.use(await startCodeIn(code.path, settings(name), 'src/process/main.ts'))
  const first = await ofThis('this-1')
  const second = await ofThis('this-2')
  const root = first.as(first.rootToken)
  await root.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  await root.write('sys/policies/acl/reader', { policy: 'path "secret/*" { capabilities = ["read"] }' })
  const load = new Load(first.rootToken)
  await load.use(first, second)
  const clients = ['a', 'b', 'c', 'd'].map((name) => load.run(name))
  const codes: (number | null)[] = []
  /** Puts a server in the place of another, while a third one works. */
  const replace = async (old: Replica, other: Replica, fresh: Replica) => {
    await load.use(old, other, fresh)
    await load.more(40)
    await load.use(other, fresh)
    codes.push((await old.stop()).code)
    await load.more(40)
  }

  const third = await ofNext('next-1')
  await replace(first, second, third)
  const fourth = await ofNext('next-2')
  await replace(second, third, fourth)
  const versions = await Promise.all(
    [third, fourth].map(
      async (server) => (await server.anonymous.read('sys/health')).body['gatehouse_version'],
    ),
  )
  const fifth = await ofThis('this-3')
  await replace(third, fourth, fifth)
  load.stop()
  await Promise.all(clients)
  const kept = await Promise.all(
    [...load.written].map(async ([path, word]) => {
      const { body } = await fifth.as(first.rootToken).read(path)
      return String(body.data?.['data']?.['word']) === word
    }),
  )
  const history = await fifth.as(first.rootToken).list('sys/version-history')

  expect(load.failed).toEqual([])
  expect(kept.filter((isKept) => !isKept)).toEqual([])
  expect(kept.length).toBeGreaterThan(50)
  expect(codes).toEqual([0, 0, 0])
  expect(versions).toEqual([next, next])
  expect(history.body.data?.['keys']).toEqual([productVersion, next])
  expect(await query(database, "SELECT value FROM meta WHERE name = 'schema'")).toEqual([{ value: '9' }])
})
