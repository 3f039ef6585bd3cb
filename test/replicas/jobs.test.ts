import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Held, Jobs } from '../../src/core/jobs/jobs.ts'
import { ServiceError } from '../../src/errors.ts'
import { untilAborted } from '../../src/lib/concurrency/wait.ts'
import type { PostgresStorage } from '../../src/storage/postgres/postgres.ts'
import { type Fence, fenced } from '../../src/storage/shared-storage.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { emptyDatabase, query } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'
import { startProcess } from '../support/process.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTwoServers } from '../support/two-servers.ts'

/** The jobs of a server; `keepMs` is how often it renews its leases, and tries to take one. */
function jobsOf(shared: PostgresStorage, keepMs: number) {
  const events: object[] = []
  const note = (fields: object) => void events.push(fields)
  const log = { info: note, warn: note, error: note }
  const times = { keepMs, ttlMs: 60_000 }
  return { events, jobs: new Jobs({ shared, log, times, clock: new FakeClock() }) }
}

/** Begins a job that lasts as long as it is held. Resolves when this server has it. */
function begun(jobs: Jobs): Promise<Held> {
  const { promise, resolve } = Promise.withResolvers<Held>()
  jobs.job('sweep').begin(async (held) => {
    resolve(held)
    await untilAborted(held.ended)
  })
  return promise
}

async function twoStorages() {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await emptyDatabase()).url
  const [one, other] = await Promise.all(
    ['one', 'other'].map((replicaName) => openPostgresAt(database, { replicaName })),
  )
  if (one === undefined || other === undefined) throw new Error('not reached')
  opened.use(one)
  opened.use(other)
  const held = opened.move()
  return { database, one, other, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

test('a holder that did not renew its lease is replaced, and its next write is refused', async () => {
  await using storages = await twoStorages()
  const { database, one, other } = storages
  // as if it were paused: it does not renew its lease, and does not notice
  await using paused = jobsOf(one, 60_000).jobs
  const held = await begun(paused)
  await held.run(() => one.write([{ key: 'a', value: Buffer.from('1') }]))
  await using quick = jobsOf(other, 1).jobs
  const taking = begun(quick)
  await query(database, "UPDATE jobs SET until = now() - interval '1 second'")
  const taken = await taking

  await expect(held.run(() => one.write([{ key: 'a', value: Buffer.from('2') }]))).rejects.toThrow(
    expect.objectContaining({ name: ServiceError.name, kind: 'unavailable' }),
  )
  await expect(held.run(() => one.deletePrefix('a'))).rejects.toThrow(ServiceError)
  await expect(held.run(() => one.update('a', () => Buffer.from('3')))).rejects.toThrow(ServiceError)
  expect(Buffer.from((await other.get('a'))?.value ?? []).toString()).toBe('1')

  await taken.run(() => other.write([{ key: 'a', value: Buffer.from('4') }]))
  await one.write([{ key: 'b', value: Buffer.from('not of the job') }])
  expect(Buffer.from((await one.get('a'))?.value ?? []).toString()).toBe('4')
})

test('the first write of a holder that was paused (SIGSTOP) is refused if another server has taken its job', async () => {
  await using emptied = await emptyDatabase()
  const database = emptied.url
  await using other = await openPostgresAt(database, { replicaName: 'other' })
  const holder = fork(join(import.meta.dirname, 'holder-program.ts'), [database])
  await using _ended = { [Symbol.asyncDispose]: () => killed(holder) }
  const said = async () => String((await once(holder, 'message'))[0])
  const write = (text: string) => void holder.send(text)
  expect(await said()).toBe('taken')
  write('by the holder')
  expect(await said()).toBe('written')

  holder.kill('SIGSTOP')
  write('by the holder, too late')
  expect(await other.holdJob('sweep', 10_000)).toBeUndefined()
  let fence: Fence | undefined
  while (fence === undefined) {
    // waits for less time than a lease lasts; what the holder asked before it was paused may renew it once more
    await query(database, "UPDATE jobs SET until = now() - interval '1 second'")
    fence = await other.holdJob('sweep', 10_000)
  }
  await fenced(fence, () => other.write([{ key: 'done', value: Buffer.from('by the other') }]))
  holder.kill('SIGCONT')

  expect(await said()).toContain('storage is unavailable')
  expect(Buffer.from((await other.get('done'))?.value ?? []).toString()).toBe('by the other')
})

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

test('a holder that was replaced ends its work, and may get the job back later', async () => {
  await using storages = await twoStorages()
  const { database, one } = storages
  const { jobs, events } = jobsOf(one, 1)
  await using _closed = jobs
  const first = await begun(jobs)
  await query(database, "UPDATE jobs SET replica = NULL, epoch = 7, until = now() + interval '1 hour'")
  await untilAborted(first.ended)
  const fields = { job: 'sweep', epoch: expect.any(Number) }
  expect(events.slice(0, 2)).toEqual([
    { event: 'background_taken', ...fields },
    { event: 'background_lost', ...fields },
  ])
  await expect.poll(() => events.at(-1)).toEqual({ event: 'background_taken', job: 'sweep', epoch: 8 })
})

const seal = { SEAL_KEY: '5e'.repeat(32) }
const heldJobs = async (database: string) =>
  (await query(database, 'SELECT name FROM jobs WHERE replica IS NOT NULL')).map(({ name }) => name)

test('a server with BACKGROUND=off takes no job; one that is sealed gives its jobs back at once', async () => {
  await using emptied = await emptyDatabase()
  const database = emptied.url
  const start = (name: string, settings = {}) =>
    startTestServer({ settings: { STORAGE: database, REPLICA_NAME: name, ...seal, ...settings } })
  await using _off = await start('off', { BACKGROUND: 'off' })
  expect(await heldJobs(database)).toEqual([])
  await using on = await start('on')
  await expect.poll(() => heldJobs(database)).toContain('leases')

  await on.root.write('sys/seal')
  await expect.poll(() => heldJobs(database)).toEqual([])
})

test('stored objects are counted by one server for all', async () => {
  const clock = new FakeClock()
  await using servers = await startTwoServers({ clock })
  const { one, other } = servers
  const countOn = async ({ root }: typeof one) =>
    (await root.read('sys/internal/counters/tokens')).body.data?.counters?.service_tokens?.total
  const counts = [await countOn(one)]
  await one.root.write('auth/token/create')
  counts.push(await countOn(other))
  clock.advance(11)
  counts.push(await countOn(other), await countOn(one))

  // each is at most as old as the count of the first server
  expect(counts).toEqual([1, 1, 2, 2])
})

test('a server that was killed or paused loses all its jobs to another, and notices when it resumes', async () => {
  await using emptied = await emptyDatabase()
  const database = emptied.url
  await using folder = await temporaryFolder()
  const start = (name: string) =>
    startProcess({
      folder: folder.path,
      settings: { STORAGE: database, REPLICA_NAME: name, POSTGRES_POOL: '3', ...seal },
    })
  /** Waits for less time than a lease lasts. */
  const endLeases = async () => {
    const [row] = await query(database, 'SELECT max(until - clock_timestamp()) AS left FROM jobs')
    expect(row).toMatchObject({ left: { seconds: expect.toSatisfy((seconds: number) => seconds < 10) } })
    await query(database, "UPDATE jobs SET until = now() - interval '1 second'")
  }
  const jobsIn = ({ stderr }: { stderr: string }, event: string) =>
    logLines({ stderr })
      .filter((line) => line.event === event)
      .map(({ job }) => job)
      .sort()
  await using first = await start('first')
  const some = ['identity-keys', 'leases', 'token-sweep', 'token-tidy']
  await expect.poll(() => jobsIn(first, 'background_taken')).toEqual(expect.arrayContaining(some))
  await using second = await start('second')
  const all = jobsIn(first, 'background_taken')
  expect(jobsIn(second, 'background_taken')).toEqual([])

  first.signal('SIGSTOP')
  await endLeases()
  await expect.poll(() => jobsIn(second, 'background_taken'), { timeout: 15_000 }).toEqual(all)
  first.signal('SIGCONT')
  await expect.poll(() => jobsIn(first, 'background_lost'), { timeout: 15_000 }).toEqual(all)

  await second.stop('SIGKILL')
  await endLeases()
  await expect
    .poll(() => jobsIn(first, 'background_taken'), { timeout: 15_000 })
    .toEqual([...all, ...all].sort())

  const { code } = await first.stop()
  expect(code).toBe(0)
  expect(await heldJobs(database)).toEqual([])
})
