import { expect, onTestFinished, test, vi } from 'vitest'
import { HashingQueue } from '../../../src/plugins/userpass/passwords/hashing-queue.ts'

const aClient = (address: string) => ({ address, whenSilent: () => () => undefined })

/** A queue whose hashes end when the test says so. */
function aQueue(limits = {}, pauseMs = 0) {
  const queue = new HashingQueue(
    { atOnce: 1, waiting: 4, waitingOfClient: 2, ...limits },
    () => () => pauseMs,
  )
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => () => {
    started.push(name)
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
  }
  return {
    started,
    login: (name: string, address: string) => queue.login(aClient(address), work(name)),
    /** A login whose client the returned function disconnects. */
    loginOf: (name: string, address: string) => {
      const gone = Promise.withResolvers<void>()
      const whenSilent = (listener: () => void) => {
        void gone.promise.then(listener)
        return () => undefined
      }
      return { login: queue.login({ address, whenSilent }, work(name)), goes: gone.resolve }
    },
    write: (name: string) => queue.write(work(name)),
    end: (name: string) => ends.get(name)?.(),
  }
}

test('hashes run so many at once, and client addresses take turns', async () => {
  const { started, login, end } = aQueue()
  const logins = [
    login('a1', '192.0.2.1'),
    login('a2', '192.0.2.1'),
    login('a3', '192.0.2.1'),
    login('b1', '192.0.2.2'),
  ]
  const order = ['a1', 'a2', 'b1', 'a3']
  for (const [at, name] of order.entries()) {
    await expect.poll(() => started).toEqual(order.slice(0, at + 1))
    end(name)
  }

  expect(await Promise.all(logins)).toEqual(['a1', 'a2', 'a3', 'b1'])
})

test('beyond the limits of an address, or of all, a login is refused at once', async () => {
  const { login } = aQueue()
  const busy = { kind: 'throttled', message: 'too many logins are waiting', retryAfterSeconds: 1 }
  void login('a1', '192.0.2.1')
  for (const name of ['a2', 'a3']) void login(name, '192.0.2.1')

  await expect(login('a4', '192.0.2.1')).rejects.toMatchObject(busy)
  for (const [name, address] of [
    ['b1', '192.0.2.2'],
    ['c1', '2001:db8::1'],
  ] as const)
    void login(name, address)
  await expect(login('d1', '192.0.2.4')).rejects.toMatchObject(busy)
})

test('an IPv6 network of 64 bits counts as one address', async () => {
  const { login } = aQueue()
  for (const host of [1, 2, 3]) void login(`a${host}`, `2001:db8::${host}`)

  await expect(login('a4', '2001:db8::4')).rejects.toMatchObject({ kind: 'throttled' })
})

test('a password that is set waits, but is never refused', async () => {
  const { started, login, write, end } = aQueue({ waiting: 0 })
  const first = login('a1', '192.0.2.1')
  const writes = [write('w1'), write('w2')]
  for (const name of ['a1', 'w1', 'w2']) {
    await expect.poll(() => started).toContain(name)
    end(name)
  }

  expect(await Promise.all([first, ...writes])).toEqual(['a1', 'w1', 'w2'])
})

test('a hash that fails gives its place back', async () => {
  const queue = new HashingQueue({ atOnce: 1, waiting: 1, waitingOfClient: 1 }, () => () => 0)

  await expect(queue.write(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')

  expect(await queue.login(aClient('192.0.2.1'), async () => 'next')).toBe('next')
})

test('a client that disconnects gives its place to others, and no hash is computed for it', async () => {
  const { started, login, loginOf, end } = aQueue({ waiting: 2, waitingOfClient: 1 })
  const first = login('a1', '192.0.2.1')
  const left = loginOf('a2', '192.0.2.1')
  const other = login('b1', '192.0.2.2')
  await expect(login('c1', '192.0.2.3')).rejects.toMatchObject({ kind: 'throttled' })

  left.goes()
  await expect(left.login).rejects.toMatchObject({ reason: 'client_gone' })
  const again = login('a3', '192.0.2.1')
  const order = ['a1', 'b1', 'a3']
  for (const [at, name] of order.entries()) {
    await expect.poll(() => started).toEqual(order.slice(0, at + 1))
    end(name)
  }

  expect(await Promise.all([first, other, again])).toEqual(order)
})

test('while the server is busy, a pause follows each hash, but not its response', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { started, login, end } = aQueue({}, 50)
  const [first, second] = [login('a', '192.0.2.1'), login('b', '192.0.2.2')]

  end('a')
  expect(await first).toBe('a')

  await vi.advanceTimersByTimeAsync(49)
  expect(started).toEqual(['a'])
  await vi.advanceTimersByTimeAsync(1)
  expect(started).toEqual(['a', 'b'])
  end('b')
  expect(await second).toBe('b')
})
