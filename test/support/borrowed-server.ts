import { afterAll } from 'vitest'
import type { Client } from './client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './start-server.ts'

type Mounts = Readonly<Record<string, { readonly type: string; readonly options: unknown }>>

/** A server that waits for the next test, and what it began with. */
type Idle = { readonly server: TestServer; readonly mounts: readonly Mounts[]; readonly policy: string }

const tables = ['sys/auth', 'sys/mounts'] as const
/** What cannot be unmounted. */
const lasting = ['system', 'identity', 'cubbyhole', 'token']

const removed = [
  'sys/policies/acl',
  'sys/policies/password',
  'identity/entity/id',
  'identity/group/id',
  'auth/token/roles',
]
/** A server that has one of these is not used again. */
const notRemoved = ['sys/namespaces', 'sys/quotas/rate-limit', 'identity/oidc/role']

const idle: Idle[] = []

/**
 * A server as `startTestServer()` starts one, but with `auth/jwt` as its only default mount. It is for a test that
 * creates and changes mounts, policies, entities, groups and tokens only, and does not look at tokens of others. Its
 * disposal gives it back as new for the next test of the file, which takes less work than a start. With options, it is a
 * server of its own.
 */
export async function borrowServer(options: TestServerOptions = {}): Promise<TestServer> {
  if (Object.keys(options).length > 0) return startTestServer(options)
  const borrowed = idle.pop() ?? (await begin())
  return { ...borrowed.server, [Symbol.asyncDispose]: () => giveBack(borrowed) }
}

async function begin(): Promise<Idle> {
  // each default mount is made again for the next test
  const server = await startTestServer({ settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt' } })
  return { server, mounts: await mountsOf(server.root), policy: await policyOf(server.root) }
}

async function giveBack(borrowed: Idle): Promise<void> {
  if (await isAsNew(borrowed)) idle.push(borrowed)
  else await borrowed.server[Symbol.asyncDispose]()
}

/** Called in each test file. */
export const closeIdleServers = (): void =>
  afterAll(async () => {
    for (const { server } of idle.splice(0)) await server[Symbol.asyncDispose]()
  })

const mountsOf = (root: Client): Promise<Mounts[]> =>
  Promise.all(tables.map(async (table) => (await root.read(table)).body['data'] as unknown as Mounts))

/** Removes what a test has left. False: something remains. */
async function isAsNew({ server: { root }, mounts, policy }: Idle): Promise<boolean> {
  const statuses: number[] = []
  const done = async (answer: ReturnType<Client['write']>) => void statuses.push((await answer).status)
  for (const [number, now] of (await mountsOf(root)).entries()) {
    const table = tables[number] ?? ''
    for (const [path, { type }] of Object.entries(now))
      if (!lasting.includes(type)) await done(root.delete(`${table}/${path}`))
    for (const [path, mount] of Object.entries(mounts[number] ?? {}))
      if (!lasting.includes(mount.type))
        await done(root.write(`${table}/${path.slice(0, -1)}`, { type: mount.type, options: mount.options }))
  }
  for (const path of removed)
    for (const name of await namesOf(root, path))
      if (name !== 'default' && name !== 'root') await done(root.delete(`${path}/${name}`))
  const left = await Promise.all(notRemoved.map((path) => namesOf(root, path)))
  const isEmpty = left.flat().length === 0 && (await policyOf(root)) === policy
  return isEmpty && statuses.every((status) => status === 204)
}

const policyOf = async (root: Client): Promise<string> =>
  String((await root.read('sys/policies/acl/default')).body['data']?.['policy'])

const namesOf = async (root: Client, path: string): Promise<string[]> =>
  ((await root.list(path)).body['data']?.['keys'] ?? []) as unknown as string[]
