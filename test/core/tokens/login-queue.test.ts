import { expect, test } from 'vitest'
import { LoginQueue } from '../../../src/core/tokens/acts/login-queue.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const aClient = (address: string, name = 'x') => ({ address, name, whenSilent: () => () => undefined })
const busy = { kind: 'throttled', message: 'too many logins are waiting', retryAfterSeconds: 1 }

/** A queue whose work ends when the test says so. */
function aQueue(limits = {}) {
  const clock = new FakeClock()
  const queue = new LoginQueue({
    limits: { atOnce: 1, waiting: 4, reserved: 0, waitingOfClient: 2, ...limits },
    clock,
  })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => () => {
    started.push(name)
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
  }
  return {
    started,
    clock,
    login: (name: string, address: string, user?: string) => queue.login(aClient(address, user), work(name)),
    succeeded: (address: string, user = 'x') => queue.noteSuccess({ address, name: user }),
    /** A login whose client the returned function disconnects. */
    loginOf: (name: string, address: string) => {
      const gone = Promise.withResolvers<void>()
      const whenSilent = (listener: () => void) => {
        void gone.promise.then(listener)
        return () => undefined
      }
      return { login: queue.login({ address, name: 'x', whenSilent }, work(name)), goes: gone.resolve }
    },
    write: (name: string) => queue.write(work(name)),
    end: (name: string) => ends.get(name)?.(),
  }
}

test('logins are worked on so many at once, and client addresses take turns', async () => {
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
  const { login } = aQueue({ waiting: 3 })
  void login('a1', '192.0.2.1')
  for (const name of ['a2', 'a3']) void login(name, '192.0.2.1')

  await expect(login('a4', '192.0.2.1')).rejects.toMatchObject(busy)
  void login('b1', '192.0.2.2')
  await expect(login('b2', '192.0.2.2')).rejects.toMatchObject(busy)
})

test('a client with nothing waiting displaces the last login of the one with most', async () => {
  const { started, login, end } = aQueue({ waiting: 5, waitingOfClient: 3 })
  const logins = [login('a1', '192.0.2.1')]
  for (const name of ['a2', 'b1', 'b2', 'b3', 'a3']) {
    const address = name.startsWith('a') ? '192.0.2.1' : '192.0.2.2'
    logins.push(login(name, address))
  }
  const displaced = expect(logins[4]).rejects.toMatchObject(busy)

  logins[4] = login('c1', '192.0.2.3')
  await displaced

  const order = ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']
  for (const [at, name] of order.entries()) {
    await expect.poll(() => started).toEqual(order.slice(0, at + 1))
    end(name)
  }
  expect(await Promise.all(logins)).toHaveLength(order.length)
})

test('nobody is displaced if everybody has one login waiting', async () => {
  const { started, login, end } = aQueue({ waiting: 2 })
  const logins = [login('a1', '192.0.2.1'), login('b1', '192.0.2.2'), login('c1', '192.0.2.3')]

  await expect(login('d1', '192.0.2.4')).rejects.toMatchObject(busy)

  for (const name of ['a1', 'b1', 'c1']) {
    await expect.poll(() => started).toContain(name)
    end(name)
  }
  await Promise.all(logins)
})

/** Strangers from so many addresses, one login each; the first one is being checked. */
function crowd(login: (name: string, address: string) => Promise<string>, size: number) {
  for (let at = 0; at < size; at += 1) login(`s${at}`, `198.51.100.${at}`).catch(() => undefined)
}

test.each([
  { name: 'an address', address: '192.0.2.7', user: 'other' },
  { name: 'a name', address: '192.0.2.8', user: 'bob' },
])('a place is reserved for $name with a recent success', async ({ address, user }) => {
  const { started, clock, login, succeeded, end } = aQueue({ waiting: 3, reserved: 1 })
  succeeded('192.0.2.7', 'bob')
  crowd(login, 3)
  await expect(login('t1', '192.0.2.9', 'eve')).rejects.toMatchObject(busy)

  const known = login('k1', address, user)
  for (const name of ['s0', 's1', 's2', 'k1']) {
    await expect.poll(() => started).toContain(name)
    end(name)
  }
  expect(await known).toBe('k1')

  clock.advance(86_400)
  crowd(login, 3)
  await expect(login('k2', address, user)).rejects.toMatchObject(busy)
})

test('a flood with a known name leaves its owner the places of the own address', async () => {
  const { started, login, succeeded, end } = aQueue({ waiting: 6, reserved: 3 })
  succeeded('192.0.2.7', 'bob')
  for (let at = 0; at < 3; at += 1) login(`f${at}`, `198.51.100.${at}`, 'bob').catch(() => undefined)

  const owner = login('o1', '192.0.2.9', 'bob')
  for (const name of ['f0', 'f1', 'o1']) {
    await expect.poll(() => started).toContain(name)
    end(name)
  }
  expect(await owner).toBe('o1')
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
  const queue = new LoginQueue({
    limits: { atOnce: 1, waiting: 1, reserved: 0, waitingOfClient: 1 },
    clock: new FakeClock(),
  })

  await expect(queue.write(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')

  expect(await queue.login(aClient('192.0.2.1'), async () => 'next')).toBe('next')
})

test('a client that disconnects gives its place to others, and no hash is computed for it', async () => {
  const { started, login, loginOf, end } = aQueue({ waiting: 2, waitingOfClient: 1 })
  const first = login('a1', '192.0.2.1')
  const left = loginOf('a2', '192.0.2.1')
  const other = login('b1', '192.0.2.2')
  await expect(login('c1', '192.0.2.3')).rejects.toMatchObject(busy)

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
