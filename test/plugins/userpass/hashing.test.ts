import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { pino } from 'pino'
import { expect, test } from 'vitest'
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

test.skipIf(process.platform !== 'linux')('the threads that hash yield to all others', async () => {
  await using server = await startUserpassServer()
  await (await server.mount()).login()

  const nicenessOf = (thread: string) => {
    const [, fields = ''] = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1').split(/\) (?=[A-Z] )/)
    return Number(fields.split(' ')[16])
  }
  expect(Math.max(...readdirSync('/proc/self/task').map(nicenessOf))).toBeGreaterThanOrEqual(10)
})
