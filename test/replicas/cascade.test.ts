import { expect, test } from 'vitest'
import { openCore } from '../../src/core/open/core.ts'
import { OutboundClient } from '../../src/core/outbound/outbound.ts'
import { systemClock } from '../../src/lib/system/clock.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { someMountTypes } from '../support/mount-types.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'
import { sealKey, startReplicas } from '../support/replicas.ts'
import { many } from '../support/rounds.ts'
import { quietLog } from '../support/start-server.ts'

const children = many(2_000, 10_000)
const perWrite = 500

/** Writes tokens like the one with this accessor into the store, many at a time; returns some of them. */
async function addTokensLike(database: string, accessor: string): Promise<string[]> {
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(await openPostgresAt(database, { replicaName: 'filler' }))
  const { tokens, view } = opened.use(
    await openCore(
      {
        sealKey: Buffer.from(sealKey, 'hex'),
        systemTtl: { defaultTtl: 3600, maxTtl: 3600 },
        apiAddr: '',
        defaultMounts: [],
        background: false,
      },
      {
        storage,
        clock: systemClock,
        random: systemRandom,
        log: quietLog,
        mountTypes: someMountTypes(),
        rootToken: { keep: () => {}, tell: () => {} },
        outbound: new OutboundClient({ deny: [] }),
      },
    ),
  )
  const like = await tokens.find(accessor)
  if (like === undefined) throw new Error('there is no such token')
  const { accessor: _, cubbyhole_id: _1, creation_time: _2, issue_time: _3, expire_time: _4, ...draft } = like
  const some: string[] = []
  for (let done = 0; done < children; done += perWrite) {
    const minted = Array.from({ length: perWrite }, () => tokens.mint(draft))
    await view.write(minted.flatMap(({ entries }) => entries))
    some.push(...minted.slice(0, 20).map(({ id }) => id))
  }
  return some
}

test('while thousands of children are revoked with their parent, none is accepted where the parent is refused', async () => {
  let time = 0
  // each request sees what was acknowledged before
  await using replicas = await startReplicas({
    steady: () => (time += 2_000),
    settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt,cloud=cloud' },
  })
  const { database, servers } = replicas
  const [one] = servers
  if (one === undefined) throw new Error('a test needs a server')
  const parent = String((await one.root.write('auth/token/create', { ttl: '1h' })).body.auth?.client_token)
  const { auth } = (await one.as(parent).write('auth/token/create', { ttl: '1h' })).body
  const some = await addTokensLike(database, String(auth?.accessor))
  const statuses = (token: string) =>
    Promise.all(servers.map(async (server) => (await server.as(token).read('auth/token/lookup-self')).status))
  expect(await statuses(some.at(-1) ?? '')).toEqual([200, 200])

  let isRunning = true
  const revoked = one.root.write('auth/token/revoke', { token: parent }).finally(() => {
    isRunning = false
  })
  const seen: number[][] = []
  for (let at = 0; isRunning && at < some.length; at++) {
    const [parents, child] = [await statuses(parent), await statuses(some[at] ?? '')]
    for (const [server, status] of parents.entries()) if (status === 403) expect(child[server]).toBe(403)
    seen.push(parents)
  }

  expect((await revoked).status).toBe(204)
  expect(seen).toContainEqual([403, 403])
  for (const token of [parent, ...some]) expect(await statuses(token)).toEqual([403, 403])
  const accessors = async () => ((await one.root.list('auth/token/accessors')).body.data?.keys ?? []).length
  await expect.poll(accessors, { interval: 250, timeout: 30_000 }).toBe(1)
}, 90_000)
