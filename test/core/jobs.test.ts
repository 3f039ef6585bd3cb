import { describe, expect, test, vi } from 'vitest'
import { type Held, Jobs } from '../../src/core/jobs/jobs.ts'
import type { LogFields } from '../../src/lib/system/log-fields.ts'
import { currentFence, type Fence, type SharedStorage } from '../../src/storage/shared-storage.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** The leases of jobs in a storage that several servers share. Their time passes when a test says so. */
class Leases {
  #now = 0
  readonly #rows = new Map<string, { fence: Fence; holder: string; until: number }>()

  pass(ms: number): void {
    this.#now += ms
  }

  /** What one server sees. With `answers` at false, the storage does not respond to it. */
  of(replicaId: string, server = { answers: true }): SharedStorage {
    // a job uses nothing else of the port
    const used: Pick<SharedStorage, 'holdJob' | 'releaseJob'> = {
      holdJob: (job, ttlMs) =>
        server.answers ? Promise.resolve(this.#hold(job, replicaId, ttlMs)) : new Promise(() => {}),
      releaseJob: async (fence) => {
        const row = this.#rows.get(fence.job)
        if (server.answers && row?.fence.epoch === fence.epoch) row.until = this.#now
      },
    }
    return used as SharedStorage
  }

  #hold(job: string, holder: string, ttlMs: number): Fence | undefined {
    const row = this.#rows.get(job)
    const isFree = row === undefined || row.until <= this.#now
    if (!isFree && row.holder !== holder) return undefined
    const fence = row !== undefined && !isFree ? row.fence : { job, epoch: (row?.fence.epoch ?? 0) + 1 }
    this.#rows.set(job, { fence, holder, until: this.#now + ttlMs })
    return fence
  }
}

const silent = { info: () => {}, warn: () => {}, error: () => {} }

/** The jobs of a server, and its log. */
function jobsOf(shared: SharedStorage | undefined, times = { keepMs: 1, ttlMs: 60_000 }) {
  const events: object[] = []
  const failures: unknown[] = []
  const note = (fields: object) => void events.push(fields)
  const log = { info: note, warn: note, error: ({ err }: LogFields) => void failures.push(err) }
  return { jobs: new Jobs({ shared, log, times, clock: new FakeClock(5_000) }), events, failures }
}

/** Work that lasts as long as the job is held, and tells when it begins. */
function work() {
  const begun = Promise.withResolvers<Held>()
  const ended = Promise.withResolvers<void>()
  return {
    begun: begun.promise,
    ended: ended.promise,
    do: async (held: Held) => {
      begun.resolve(held)
      await untilAborted(held.ended)
      ended.resolve()
    },
  }
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((done) => {
    if (signal.aborted) done()
    signal.addEventListener('abort', () => done(), { once: true })
  })

/** Timers of jobs keep no process alive. */
const kept = async <T>(wait: Promise<T>): Promise<T> => {
  const alive = setInterval(() => {}, 1000)
  return await wait.finally(() => clearInterval(alive))
}

test('a server that shares its storage with no other does a job at once, without a lease', async () => {
  const { jobs, events } = jobsOf(undefined)
  const one = work()
  const job = jobs.job('sweep')
  job.begin(one.do)

  const held = await one.begun
  job.ran('ok')
  expect([jobs.status(), await held.run(async () => currentFence())]).toEqual([
    [{ kind: 'sweep', isHeld: true, lastSuccess: 5_000 }],
    undefined,
  ])
  await jobs[Symbol.asyncDispose]()
  await one.ended
  expect(events).toEqual([])
})

test('one of two servers does a job, and the other takes it when the first one stops', async () => {
  const leases = new Leases()
  const first = jobsOf(leases.of('a'))
  const second = jobsOf(leases.of('b'))
  const [one, two] = [work(), work()]
  first.jobs.job('sweep').begin(one.do)
  await one.begun
  second.jobs.job('sweep').begin(two.do)
  await kept(first.jobs[Symbol.asyncDispose]())
  await one.ended

  const held = await kept(two.begun)
  const fence = { job: 'sweep', epoch: 2 }
  expect(await held.run(async () => currentFence())).toEqual(fence)
  expect([...first.events, ...second.events]).toEqual([
    { event: 'background_taken', job: 'sweep', epoch: 1 },
    { event: 'background_taken', ...fence },
  ])
  await second.jobs[Symbol.asyncDispose]()
})

test('the work and all that it starts carry the epoch of the lease; a timer of a request does not', async () => {
  const { jobs } = jobsOf(new Leases().of('a'))
  const fences: (Fence | undefined)[] = []
  const done = Promise.withResolvers<void>()
  let held: Held | undefined
  jobs.job('sweep').begin(async (holding) => {
    held = holding
    await new Promise((next) => setImmediate(next))
    fences.push(currentFence())
    done.resolve()
    await untilAborted(holding.ended)
  })
  await done.promise
  fences.push(currentFence(), await held?.run(async () => currentFence()))

  const fence = { job: 'sweep', epoch: 1 }
  expect(fences).toEqual([fence, undefined, fence])
  await jobs[Symbol.asyncDispose]()
})

test('a holder that another server has replaced ends its work and tells that it lost the job', async () => {
  const leases = new Leases()
  const a = jobsOf(leases.of('a'))
  const one = work()
  a.jobs.job('sweep').begin(one.do)
  await one.begun
  // as if the process had been paused
  leases.pass(61_000)
  await leases.of('b').holdJob('sweep', 60_000)

  await kept(one.ended)
  expect(a.events).toEqual([
    { event: 'background_taken', job: 'sweep', epoch: 1 },
    { event: 'background_lost', job: 'sweep', epoch: 1 },
  ])
  expect(a.jobs.status()).toEqual([{ kind: 'sweep', isHeld: false, lastSuccess: undefined }])
  await a.jobs[Symbol.asyncDispose]()
})

test('a holder that cannot renew its lease ends its work when the lease is over', async () => {
  const storage = { answers: true }
  const { jobs, events } = jobsOf(new Leases().of('a', storage), { keepMs: 1, ttlMs: 20 })
  const one = work()
  jobs.job('sweep').begin(one.do)
  await one.begun
  storage.answers = false

  await kept(one.ended)
  expect(events.at(-1)).toEqual({ event: 'background_lost', job: 'sweep', epoch: 1 })
})

test('work that fails is logged and begins again; work that is complete gives the lease back', async () => {
  const leases = new Leases()
  const { jobs, failures } = jobsOf(leases.of('a'))
  const complete = Promise.withResolvers<void>()
  let runs = 0
  jobs.job('sweep').begin(async () => {
    runs += 1
    if (runs === 1) throw new Error('the record is damaged')
    complete.resolve()
  })
  await kept(complete.promise)
  const other = work()
  const second = jobsOf(leases.of('b'))
  second.jobs.job('sweep').begin(other.do)
  await kept(other.begun)

  expect([runs, failures.map(String), jobs.status()]).toEqual([2, ['Error: the record is damaged'], []])
  await Promise.all([jobs, second.jobs].map((one) => one[Symbol.asyncDispose]()))
})

test('jobs that exist once for each object count as one kind', async () => {
  const { jobs } = jobsOf(undefined)
  const [one, two] = [work(), work()]
  jobs.job('removal/1').begin(one.do)
  jobs.job('removal/2').begin(two.do)
  jobs.job('removal/2').ran('ok')

  expect(jobs.status()).toEqual([{ kind: 'removal', isHeld: true, lastSuccess: 5_000 }])
  await jobs[Symbol.asyncDispose]()
})

describe('with the times that servers use', () => {
  const stepMs = 50

  /** Lets time pass until `is` holds, and returns how much. */
  async function passUntil(leases: Leases, is: () => boolean, mostMs = 60_000): Promise<number> {
    for (let passed = 0; ; passed += stepMs) {
      if (is() || passed >= mostMs) return passed
      leases.pass(stepMs)
      await vi.advanceTimersByTimeAsync(stepMs)
    }
  }

  test.each([0, 700, 1_500, 2_950])(
    'a server that is gone %i ms after a renewal is replaced within 15 s, after it would have ended its work',
    async (afterMs) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
      try {
        const leases = new Leases()
        const storage = { answers: true }
        const [first, second] = [leases.of('a', storage), leases.of('b')].map((shared) => {
          const server = { ...work(), isBegun: false, isEnded: false }
          const jobs = new Jobs({ shared, log: silent, clock: new FakeClock() })
          jobs.job('sweep').begin(server.do)
          void server.begun.then(() => {
            server.isBegun = true
          })
          void server.ended.then(() => {
            server.isEnded = true
          })
          return server
        })
        await passUntil(leases, () => first?.isBegun === true)
        await passUntil(leases, () => false, 30_000 + afterMs)
        expect([first?.isEnded, second?.isBegun]).toEqual([false, false])

        storage.answers = false
        const endedAfter = await passUntil(leases, () => first?.isEnded === true)
        const replacedAfter = endedAfter + (await passUntil(leases, () => second?.isBegun === true))
        expect(endedAfter).toBeLessThanOrEqual(10_000 + stepMs)
        expect(replacedAfter).toBeGreaterThanOrEqual(endedAfter)
        expect(replacedAfter).toBeLessThanOrEqual(15_000)
      } finally {
        vi.useRealTimers()
      }
    },
  )
})
