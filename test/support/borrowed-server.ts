import { afterAll } from 'vitest'
import type { Client } from './client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './start-server.ts'

type Mounts = Readonly<Record<string, { readonly type: string; readonly options: unknown }>>

/** A server that waits for the next test, and the mounts it began with. */
type Idle = { readonly server: TestServer; readonly mounts: readonly Mounts[] }

const tables = ['sys/auth', 'sys/mounts'] as const
/** They exist once, and stay. */
const lasting = [
  'system',
  'identity',
  'cubbyhole',
  'token',
  'ns_system',
  'ns_identity',
  'ns_cubbyhole',
  'ns_token',
]

let idle: Idle | undefined

/**
 * A server as `startTestServer()` starts one, for a test that creates and changes mounts, policies, entities, groups
 * and tokens only, and does not look at tokens of others. Its disposal gives it back as new for the next test of the
 * file, which takes a tenth of the work of a start. With options, it is a server of its own.
 */
export async function borrowServer(options: TestServerOptions = {}): Promise<TestServer> {
  if (Object.keys(options).length > 0) return startTestServer(options)
  const borrowed = idle ?? (await begin())
  idle = undefined
  return { ...borrowed.server, [Symbol.asyncDispose]: () => giveBack(borrowed) }
}

async function begin(): Promise<Idle> {
  const server = await startTestServer()
  return { server, mounts: await mountsOf(server.root) }
}

async function giveBack(borrowed: Idle): Promise<void> {
  if (idle === undefined && (await isAsNew(borrowed))) idle = borrowed
  else await borrowed.server[Symbol.asyncDispose]()
}

/** Called in each test file. */
export const closeIdleServer = (): void =>
  afterAll(async () => {
    await idle?.server[Symbol.asyncDispose]()
    idle = undefined
  })

const mountsOf = (root: Client): Promise<Mounts[]> =>
  Promise.all(tables.map(async (table) => (await root.read(table)).body['data'] as unknown as Mounts))

/** Removes what a test has left. False: the server has failed to. */
async function isAsNew({ server: { root }, mounts }: Idle): Promise<boolean> {
  const statuses: number[] = []
  const done = async (answer: ReturnType<Client['write']>) => void statuses.push((await answer).status)
  for (const [number, now] of (await mountsOf(root)).entries()) {
    const table = tables[number] ?? ''
    for (const [path, { type }] of Object.entries(now))
      if (!lasting.includes(type)) await done(root.delete(`${table}/${path}`))
    for (const [path, mount] of Object.entries(mounts[number] ?? {}))
      if (!lasting.includes(mount.type))
        await done(root.write(`${table}/${path}`, { type: mount.type, options: mount.options }))
  }
  for (const path of ['sys/policies/acl', 'identity/entity/id', 'identity/group/id'])
    for (const name of await namesOf(root, path))
      if (name !== 'default' && name !== 'root') await done(root.delete(`${path}/${name}`))
  return statuses.every((status) => status === 204)
}

const namesOf = async (root: Client, path: string): Promise<string[]> =>
  ((await root.list(path)).body['data']?.['keys'] ?? []) as unknown as string[]
