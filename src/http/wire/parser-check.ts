import { createServer, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { StartError } from '../../errors.ts'

/**
 * Verifies on a separate connection that Node's HTTP server works as `RequestFeed` requires: one `data`
 * listener takes the bytes, a request is reported before that listener returns, and it is complete exactly
 * with its last byte. Throws `StartError` on a Node.js where that does not hold.
 */
export function checkParser(): void {
  const server = createServer()
  const wire = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  let request: IncomingMessage | undefined
  server.on('request', (incoming) => {
    request = incoming
  })
  server.emit('connection', wire)
  const listeners = wire.listeners('data')
  const give = (text: string) => listeners[0]?.call(wire, Buffer.from(text))
  give('PUT')
  give(' / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n')
  const completeEarly = request?.complete
  give('x')
  const fits = listeners.length === 1 && completeEarly === false && request?.complete === true
  wire.destroy()
  if (!fits)
    throw new StartError(
      2,
      `Node.js ${process.version} feeds its HTTP parser in a way this server is not made for: use version 24, 25 or 26`,
    )
}
