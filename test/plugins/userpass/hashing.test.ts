import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { LoginQueue } from '../../../src/core/tokens/acts/login-queue.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { Passwords } from '../../../src/plugins/userpass/passwords/passwords.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startUserpassServer } from './userpass-server.ts'

/** Takes about 100 ms. */
const dearHashes = { memory: 19_456, passes: 6 }
/** Of one address; at most 8 hashes are computed at once. */
const mostWaiting = 8

/** Resolves once this login is refused because others wait. */
async function busy(socket: Socket): Promise<void> {
  const [answer] = await once(socket, 'data')
  if (!/^HTTP\/1.1 429 .*too many logins are waiting/s.test(String(answer))) throw new Error('it had a turn')
}

test('clients that disconnect leave the queue before their passwords are hashed', async () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  await using server = await startUserpassServer({ log, passwordCost: dearHashes })
  await server.root.write('sys/auth/up', { type: 'userpass' })
  const { port } = new URL(server.url)
  const body = JSON.stringify({ password: 'guess' })
  const head = `POST /v1/auth/up/login/x HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`
  const atOnce = Math.max(1, Math.min(availableParallelism() - 1, 8))
  const sockets: Socket[] = []
  for (let login = 0; login < atOnce + mostWaiting + 1; login += 1) {
    const socket = connect(Number(port), '127.0.0.1')
    sockets.push(socket)
    socket.write(head + body)
  }

  // one more than can wait: so now others do
  await Promise.any(sockets.map(busy))
  for (const socket of sockets) socket.destroy()

  await expect
    .poll(() => lines.filter((line) => line.includes('"reason":"client_gone"')).length)
    .toBeGreaterThan(0)
})

test('a name that was locked while a login waited costs no hash', async () => {
  const limits = { atOnce: 1, waiting: 1, reserved: 0, waitingOfClient: 1 }
  const queue = new LoginQueue({ limits, clock: new FakeClock() })
  const passwords = new Passwords({ queue, cost: dearHashes, random: systemRandom })
  const client = { address: '192.0.2.1', name: 'bob', whenSilent: () => () => undefined }
  const checkAgain = () => {
    throw new Error('locked')
  }

  // hashing would fail, because this is no hash
  const refused = passwords.matches({ password: 'x', hash: 'none', bcryptCost: 0, client, checkAgain })

  await expect(refused).rejects.toThrow('locked')
})

/**
 * Sends logins from a loopback address, one after the other, until the returned function is called. A refused one is
 * sent again after a moment.
 */
function flood(url: string, localAddress: string): () => void {
  const agent = new Agent({ keepAlive: true })
  let isOver = false
  const send = () => {
    if (isOver) return
    const sent = request(url, { method: 'POST', agent, localAddress }, (answer) => {
      const next = () => (answer.statusCode === 429 ? setTimeout(send, 50).unref() : send())
      answer.resume().once('end', next)
    })
    sent.on('error', () => undefined).end(JSON.stringify({ password: 'guess' }))
  }
  send()
  return () => {
    isOver = true
    agent.destroy()
  }
}

/** Only Linux has all of 127.0.0.0/8. */
test.skipIf(process.platform !== 'linux')(
  'beside 16 addresses with nine guesses each, a right password from another address logs in',
  async () => {
    await using server = await startUserpassServer({ passwordCost: { memory: 4_096, passes: 2 } })
    const { path } = await server.mount()
    const urlOf = (name: string) => `${server.url}/v1/${path}/login/${name}`
    const ends: (() => void)[] = []
    for (let address = 0; address < 16; address += 1)
      for (let login = 0; login < 9; login += 1)
        ends.push(flood(urlOf(`guess-${address}-${login}`), `127.0.1.${address + 1}`))
    onTestFinished(() => {
      for (const end of ends) end()
    })
    const tries = async (localAddress: string) => {
      const sent = request(urlOf('bob'), { method: 'POST', localAddress })
      sent.end(JSON.stringify({ password: 'pw' }))
      const [answer] = await once(sent, 'response')
      answer.resume()
      return answer.statusCode
    }
    // an address of the flood has no place left
    await expect.poll(() => tries('127.0.1.1')).toBe(429)

    expect(await tries('127.0.2.1')).toBe(200)
  },
)

test.skipIf(process.platform !== 'linux')('the threads that hash yield to all others', async () => {
  await using server = await startUserpassServer()
  await (await server.mount()).login()

  const nicenessOf = (thread: string) => {
    const [, fields = ''] = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1').split(/\) (?=[A-Z] )/)
    return Number(fields.split(' ')[16])
  }
  expect(Math.max(...readdirSync('/proc/self/task').map(nicenessOf))).toBeGreaterThanOrEqual(10)
})
