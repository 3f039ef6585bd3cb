import { expect, test } from 'vitest'
import type { ViewEntry } from '../../src/core/barrier/view.ts'
import { JoinedChanges, type JoinedWrite } from '../../src/core/joined-changes.ts'
import { fail, refuse } from '../../src/errors.ts'
import { fenced } from '../../src/storage/shared-storage.ts'

const entry = (key: string, value: unknown = true): ViewEntry => ({ key, value })
const put = (key: string) => async (write: JoinedWrite) => {
  await write([entry(key)])
  return key
}

/** Changes whose writes are recorded, as their keys. `answer` decides on a write: by default, it succeeds. */
function recording(answer: (keys: string) => boolean = () => true, guard: readonly ViewEntry[] = []) {
  const writes: string[] = []
  const changes = new JoinedChanges({
    guard: async () => guard,
    write: async (entries) => {
      const keys = entries.map(({ key }) => key).join(' ')
      writes.push(keys)
      return answer(keys)
    },
  })
  return { changes, writes }
}

test('changes of one kind are written together, those without a kind by themselves', async () => {
  const { changes, writes } = recording()

  const done = await Promise.all([
    ...['a', 'b'].map((key) => changes.run(put(key), 'one')),
    ...['c', 'd'].map((key) => changes.run(put(key))),
    ...['e', 'f'].map((key) => changes.run(put(key), 'other')),
    changes.run(put('g'), 'one'),
  ])

  expect(done).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  expect(writes).toEqual(['a b', 'c', 'd', 'e f', 'g'])
})

test('a second change of a record, or with the same claim, has a later write', async () => {
  const { changes, writes } = recording()
  let runs = 0
  const claiming = (key: string) => async (write: JoinedWrite) => {
    runs += 1
    await write([entry(key)], ['claim'])
  }

  await Promise.all([
    ...['a', 'b', 'a'].map((key) => changes.run(put(key), 'one')),
    ...['c', 'd'].map((key) => changes.run(claiming(key), 'one')),
  ])

  expect(writes).toEqual(['a b', 'a c', 'd'])
  expect(runs).toBe(3)
})

test('an entry that commutes is written once', async () => {
  const { changes, writes } = recording()
  const both = (key: string) => (write: JoinedWrite) =>
    write([entry(key), { key: 'both', value: 1, expect: 7, commutes: true }])

  await Promise.all(['a', 'b'].map((key) => changes.run(both(key), 'one')))

  expect(writes).toEqual(['a both b'])
})

test('what is decided on the changes before is told once they are written', async () => {
  const told: string[] = []
  const { changes } = recording((keys) => told.push(`written ${keys}`) > 0)
  const refused = changes
    .run(async () => {
      throw refuse('invalid', 'there is an a')
    }, 'one')
    .catch(() => told.push('refused'))

  const first = changes.run(put('a'), 'one')
  const looks = changes.run(async () => told.push('looks'), 'one').then(() => told.push('told'))
  await Promise.all([refused, first, looks])

  expect(told.slice(-2)).toEqual(['refused', 'told'])
  expect(told.indexOf('looks')).toBeLessThan(told.indexOf('written a'))
})

test('what follows a write begins for all of its changes at once', async () => {
  const { changes } = recording()
  const seen: string[] = []
  const follow = (key: string) =>
    changes.run(async (write) => {
      await write([entry(key)])
      seen.push(`${key} written`)
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`${key} done`)
    }, 'one')

  await Promise.all(['a', 'b'].map(follow))

  expect(seen).toEqual(['a written', 'b written', 'a done', 'b done'])
})

test('after a write that found something else, each change is decided again, by itself', async () => {
  const { changes, writes } = recording((keys) => keys !== 'a b c' && keys !== 'b')
  const seen: number[] = []
  const counted = (key: string) => {
    let runs = 0
    return changes.run(async (write) => {
      runs += 1
      // b finds out why it was refused
      if (key === 'b' && runs === 3) throw refuse('invalid', 'b is taken')
      await write([entry(key)])
      seen.push(runs)
    }, 'one')
  }

  const [a, b, c] = await Promise.allSettled(['a', 'b', 'c'].map(counted))

  expect([a?.status, b?.status, c?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(writes).toEqual(['a b c', 'a', 'b', 'c'])
  expect(seen).toEqual([2, 2])
})

test('a storage that fails ends those that write; others are decided again', async () => {
  let isDown = true
  const { changes } = recording(() => {
    if (isDown) throw fail('unavailable', 'storage is unavailable')
    return true
  })
  const failed = ['a', 'b'].map((key) => changes.run(put(key), 'one'))
  let looks = 0
  const looking = changes.run(async () => {
    isDown = looks === 0
    looks += 1
  }, 'one')

  expect((await Promise.allSettled(failed)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await looking
  expect(looks).toBe(2)
  await expect(changes.run(put('c'), 'one')).resolves.toBe('c')
})

test('a refusal of the storage, such as a name that is too long, is that of one change', async () => {
  const { changes, writes } = recording((keys) => {
    if (keys.includes('long')) throw refuse('invalid', 'a name is too long')
    return true
  })

  const done = await Promise.allSettled(['a', 'long', 'b'].map((key) => changes.run(put(key), 'one')))

  expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(writes).toEqual(['a long b', 'a', 'long', 'b'])
})

test('a refusal of the storage is that of one change, also if other servers may have decided', async () => {
  const { changes, writes } = recording(
    (keys) => {
      if (keys.includes('long')) throw refuse('invalid', 'a name is too long')
      return true
    },
    [entry('guard')],
  )

  const done = await Promise.allSettled(['a', 'long', 'b'].map((key) => changes.run(put(key), 'one')))

  expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(done[1]).toMatchObject({ reason: { kind: 'invalid' } })
  expect(writes).toEqual(['a long b guard', 'a guard', 'long guard', 'b guard'])
})

test('changes that always find something else are decided apart at last', async () => {
  const together = 'a b c guard'
  const { changes, writes } = recording((keys) => keys !== together, [entry('guard')])

  await Promise.all(['a', 'b', 'c'].map((key) => changes.run(put(key), 'one')))

  expect(writes).toEqual([...Array(4).fill(together), 'a guard', 'b guard', 'c guard'])
})

test('a change that always finds something else gives up', async () => {
  const { changes, writes } = recording((keys) => keys !== 'lost')
  const end = expect(changes.run(put('lost'))).rejects.toMatchObject({ kind: 'unavailable' })
  await end
  expect(writes).toHaveLength(16)
})

test('what a background job writes is written by itself', async () => {
  const { changes, writes } = recording()
  const fence = { job: 'sweep', epoch: 1 }

  await Promise.all([
    changes.run(put('a'), 'one'),
    fenced(fence, () => changes.run(put('b'), 'one')),
    changes.run(put('c'), 'one'),
  ])

  expect(writes).toEqual(['a', 'b', 'c'])
})

test('a change of which one entry cannot be written adds none to a round', async () => {
  const { changes, writes } = recording()
  const first = changes.run(put('a'), 'one')
  const bad = changes.run((write) => write([entry('x'), entry('y', 1n)]), 'one')
  const last = changes.run(put('b'), 'one')

  await expect(bad).rejects.toThrow(TypeError)
  await Promise.all([first, last])

  expect(writes).toEqual(['a b'])
})

test('a round holds 64 changes, and about 1 MiB', async () => {
  const { changes, writes } = recording()
  const names = Array.from({ length: 70 }, (_, at) => `n${at}`)
  await Promise.all(names.map((key) => changes.run(put(key), 'one')))
  const large = 'x'.repeat(600_000)
  await Promise.all(['a', 'b', 'c'].map((key) => changes.run((write) => write([entry(key, large)]), 'one')))

  expect(writes.map((keys) => keys.split(' ').length)).toEqual([64, 6, 2, 1])
})
