import { afterAll } from 'vitest'
import type { Client } from './client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './start-server.ts'

type Mounts = Readonly<Record<string, { readonly type: string; readonly options: unknown }>>

/** A server that waits for the next test, and what it began with. */
type Idle = {
  readonly server: TestServer
  readonly environment: string
  readonly mounts: readonly Mounts[]
  readonly policy: string
}

const tables = ['sys/auth', 'sys/mounts'] as const
/** What cannot be unmounted. */
const lasting = ['system', 'identity', 'cubbyhole', 'token']

const removed = [
  'sys/policies/acl',
  'sys/policies/password',
  'identity/entity/id',
  'identity/group/id',
  'auth/token/roles',
  'sys/config/ui/custom-messages',
]
/** A server that has one of these is not used again. */
const notRemoved = ['sys/namespaces', 'sys/quotas/rate-limit', 'identity/oidc/role']

const idle: Idle[] = []
const others: AsyncDisposable[] = []

/**
 * A server as `startTestServer()` starts one, but with `auth/jwt` as its only default mount. It is for a test that
 * creates and changes mounts, policies, entities, groups, messages and tokens only, and does not look at tokens of
 * others. Its disposal gives it back as new for the next test of the file that needs the same environment, which takes
 * less work than a start. With other options, it is a server of its own.
 */
export async function borrowServer({
  environment = {},
  ...options
}: TestServerOptions = {}): Promise<TestServer> {
  if (Object.keys(options).length > 0) return startTestServer({ environment, ...options })
  const key = JSON.stringify(environment)
  const at = idle.findIndex((one) => one.environment === key)
  const [found] = at === -1 ? [] : idle.splice(at, 1)
  const borrowed = found ?? (await begin(environment))
  return { ...borrowed.server, [Symbol.asyncDispose]: () => giveBack(borrowed) }
}

async function begin(environment: Record<string, string>): Promise<Idle> {
  // each default mount is made again for the next test
  const server = await startTestServer({ settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt' }, environment })
  const [mounts, policy] = [await mountsOf(server.root), await policyOf(server.root)]
  return { server, environment: JSON.stringify(environment), mounts, policy }
}

async function giveBack(borrowed: Idle): Promise<void> {
  if (await isAsNew(borrowed)) idle.push(borrowed)
  else await borrowed.server[Symbol.asyncDispose]()
}

/** Disposed at the end of the test file that runs now. */
export const untilEndOfFile = (one: AsyncDisposable): void => void others.push(one)

/** Called in each test file. */
export const closeIdleServers = (): void =>
  afterAll(async () => {
    for (const { server } of idle.splice(0)) await server[Symbol.asyncDispose]()
    for (const one of others.splice(0)) await one[Symbol.asyncDispose]()
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
