import { Buffer } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LongLists, listedDetails, listedNames } from '../../src/core/long-lists.ts'
import { LongText } from '../../src/lib/concurrency/long-text.ts'
import { enableAuditFile } from '../support/audit-file.ts'
import type { Answer } from '../support/client.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A client that leaves when told to. */
function aClient() {
  const listeners = new Set<() => void>()
  return {
    leave: () => {
      for (const listener of listeners) listener()
    },
    listeners,
    whenGone: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 1; number <= count; number += 1) yield number
}

/** Lets everything run that can: more turns than any walk here takes. */
const quiet = async () => {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn()
}

/** A walk that goes as far as it may; `upTo` holds it there. */
function walk(lists: LongLists, { count = 1000, upTo = 0 } = {}) {
  const client = aClient()
  const held = Promise.withResolvers<void>()
  const state = { seen: 0, client, goOn: held.resolve, done: Promise.resolve() }
  const run = async () => {
    for await (const number of lists.paced(numbers(count), client)) {
      state.seen = number
      if (number === upTo) await held.promise
    }
  }
  state.done = run()
  state.done.catch(() => undefined)
  return state
}

/** How many turns a walk takes depends on how long it runs at a time. */
async function reaches(walked: { readonly seen: number }, number: number): Promise<void> {
  while (walked.seen < number) await nextTurn()
}

test('several long walks run one at a time, in the order of the requests', async () => {
  const lists = new LongLists()
  const first = walk(lists, { upTo: 900 })
  await reaches(first, 900)
  const second = walk(lists, { upTo: 900 })
  await reaches(second, 499)
  const third = walk(lists)
  await reaches(third, 499)
  await quiet()
  expect([first.seen, second.seen, third.seen]).toEqual([900, 499, 499])

  first.goOn()
  await first.done
  await reaches(second, 900)
  await quiet()
  expect([second.seen, third.seen]).toEqual([900, 499])

  second.goOn()
  await third.done
  expect(third.seen).toBe(1000)
})

test('a short walk does not wait', async () => {
  const lists = new LongLists()
  const long = walk(lists, { upTo: 900 })
  await reaches(long, 900)

  await walk(lists, { count: 499 }).done

  long.goOn()
  await long.done
})

test('a walk ends when its client disconnects, and the next one begins', async () => {
  const lists = new LongLists()
  const first = walk(lists, { upTo: 900 })
  await reaches(first, 900)
  const second = walk(lists)
  await reaches(second, 499)

  first.client.leave()
  first.goOn()

  await expect(first.done).rejects.toMatchObject({ kind: 'unavailable' })
  expect(first.seen).toBe(900)
  await second.done
  expect(second.seen).toBe(1000)
  expect([first.client.listeners.size, second.client.listeners.size]).toEqual([0, 0])
})

test('a walk whose client left while it waited never begins and delays nobody', async () => {
  const lists = new LongLists()
  const first = walk(lists, { upTo: 900 })
  await reaches(first, 900)
  const second = walk(lists)
  await reaches(second, 499)
  const third = walk(lists)
  await quiet()

  second.client.leave()
  first.goOn()

  await expect(second.done).rejects.toMatchObject({ kind: 'unavailable' })
  expect(second.seen).toBe(499)
  await third.done
})

test('at most 64 walks wait', async () => {
  const lists = new LongLists()
  const first = walk(lists, { upTo: 900 })
  await reaches(first, 900)
  const waiting = Array.from({ length: 64 }, () => walk(lists, { count: 500 }))
  await Promise.all(waiting.map((walked) => reaches(walked, 499)))
  await quiet()

  await expect(walk(lists).done).rejects.toMatchObject({ kind: 'overloaded' })

  first.goOn()
  await Promise.all(waiting.map(({ done }) => done))
  await walk(lists).done
})

test('a walk that is aborted or fails lets the next one begin', async () => {
  const lists = new LongLists()
  async function* failing() {
    yield* numbers(700)
    throw new Error('cannot be read')
  }
  const cut = async () => {
    for await (const number of lists.paced(numbers(1000), aClient())) if (number === 800) return
  }
  const failed = async () => {
    for await (const _ of lists.paced(failing(), aClient()));
  }

  const [broken, refused] = await Promise.allSettled([cut(), failed()])
  expect([broken.status, refused.status]).toEqual(['fulfilled', 'rejected'])

  const last = walk(lists)
  await last.done
  expect(last.seen).toBe(1000)
})

test.each([0, 2_000, 2_001, 4_000, 12_345])(
  'the text of %i names is that of the whole list',
  async (count) => {
    const keys = Array.from({ length: count }, (_, index) => `"${index}" \u2028 é`)
    async function* arriving() {
      yield []
      for (let at = 0; at < count; at += 60) yield keys.slice(at, at + 60)
      yield []
    }

    const replies = [await listedNames(keys, new LongLists()), await listedNames(arriving(), new LongLists())]

    for (const reply of replies) {
      const text = 'longData' in reply ? reply.longData.toString() : JSON.stringify(reply.data)
      expect('longData' in reply).toBe(count > 2_000)
      expect(JSON.parse(text)).toEqual({ keys })
    }
  },
)

test.each([
  { name: 'short ones', lengths: Array<number>(20).fill(1) },
  { name: 'a long one alone', lengths: [900] },
  { name: 'long ones among short ones', lengths: [900, 1, 900, ...Array<number>(20).fill(1), 900] },
])('details may be long texts: $name', async ({ lengths }) => {
  const whole = lengths.map((length, at): [string, object] => [`"${at}"`, { is: 'x'.repeat(length) }])
  async function* details() {
    for (const [name, shown] of whole) {
      const text = Buffer.from(JSON.stringify(shown))
      yield [name, text.length > 100 ? new LongText([text.subarray(0, 9), text.subarray(9)]) : shown] as const
    }
  }

  const reply = await listedDetails(details(), new LongLists())

  const text = 'longData' in reply ? reply.longData.toString() : JSON.stringify(reply.data)
  expect(JSON.parse(text)).toEqual({ keys: whole.map(([name]) => name), key_info: Object.fromEntries(whole) })
})

test('concurrent long lists are complete, and continue where a page ended', async () => {
  await using server = await startTestServer()
  const { root } = server
  const count = 620
  const accessor = String((await root.read('sys/auth')).body.data?.['token/']?.accessor)
  for (let from = 0; from < count; from += 62) {
    const made = Array.from({ length: 62 }, (_, at) =>
      root.write('identity/entity-alias', { name: `person-${from + at}`, mount_accessor: accessor }),
    )
    for (const answer of await Promise.all(made)) expect(answer.status).toBe(200)
  }
  const paths = ['identity/entity/id', 'identity/entity/name', 'identity/entity-alias/id']

  const lists = await Promise.all([...paths, ...paths, ...paths].map((path) => root.list(path)))

  for (const [at, { status, body }] of lists.entries()) {
    const keys = Object.values(body.data?.keys ?? {}).map(String)
    expect([status, new Set(keys).size]).toEqual([200, count])
    expect(keys).toEqual(keys.toSorted())
    const path = String(paths[at % 3])
    if (!path.endsWith('/name')) expect(Object.keys(body.data?.key_info ?? {})).toEqual(keys)
    const page = await root.list(`${path}?after=${keys[9]}&limit=600`)
    expect(page.body.data?.keys).toEqual(keys.slice(10, 610))
  }
})

test('a list of many names arrives whole: as it is, in the audit log and behind a wrapping token', async () => {
  await using folder = await temporaryFolder()
  await using server = await startTestServer({ settings: { AUDIT_DIRS: folder.path } })
  const { root } = server
  await root.write('sys/mounts/many', { type: 'kv' })
  const keys = Array.from({ length: 2_001 }, (_, index) => `${10_000 + index} é`)
  await Promise.all(keys.map((key) => root.write(`many/${encodeURIComponent(key)}`, { a: 1 })))
  const audit = await enableAuditFile(root, folder.file('audit.log'), { options: { log_raw: 'true' } })

  let listed: Answer | undefined
  const entries = await audit.during(async () => (listed = await root.list('many')))
  const wrapped = await root.list('many', { headers: { 'X-Vault-Wrap-TTL': '60' } })
  const unwrapped = await root.write('sys/wrapping/unwrap', { token: wrapped.body['wrap_info']?.['token'] })

  expect(listed?.body.data).toEqual({ keys })
  expect(listed?.headers['content-length']).toBe(String(Buffer.byteLength(listed?.text ?? '')))
  expect(unwrapped.body.data).toEqual({ keys })
  expect(entries.map(({ response }) => response?.['data'])).toEqual([undefined, { keys }])
})

test('a walk lets other work run, however fast its items come', async () => {
  const lists = new LongLists()
  let [turns, isOver] = [0, false]
  const others = (async () => {
    for (; !isOver; turns += 1) await nextTurn()
  })()
  async function* slow() {
    for (const number of [1, 2, 3, 4, 5]) {
      // longer than a turn of the event loop may take
      for (const endsAt = performance.now() + 1; performance.now() < endsAt; );
      yield number
    }
  }

  const seen: number[] = []
  for await (const number of lists.paced(slow(), aClient())) seen.push(number)
  isOver = true
  await others

  expect(seen).toEqual([1, 2, 3, 4, 5])
  expect(turns).toBeGreaterThanOrEqual(5)
})
