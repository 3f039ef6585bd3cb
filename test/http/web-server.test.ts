import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { WebServer } from '../../src/http/wire/web-server.ts'
import { head } from './wire.ts'

test('a server that closes lets its clients take their responses, and closes their connections then', async () => {
  const size = 32 * 1024 * 1024
  const { promise: answered, resolve } = Promise.withResolvers<void>()
  const web = new WebServer({}, (_request, response) => {
    response.writeHead(200, { 'content-length': size }).end(Buffer.alloc(size))
    resolve()
  })
  const door = createServer({ allowHalfOpen: true }, (socket) => web.take(socket, 'network'))
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  const silent = connect((door.address() as AddressInfo).port, '127.0.0.1')
  await once(door, 'connection')
  // it takes nothing before it is read
  const client = connect((door.address() as AddressInfo).port, '127.0.0.1')
  client.write(head('GET', '/'))
  await answered

  const silentClosed = once(silent.resume(), 'close')
  web.close()
  door.close()
  let received = 0
  for await (const bytes of client) received += bytes.length

  expect(received).toBeGreaterThan(size)
  await silentClosed
})
