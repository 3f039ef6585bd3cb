import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A server that only reads requests, as a baseline: it responds when a request has arrived completely.
 * `node bench/only-reads.ts` prints its port.
 */
const server = createServer({ maxHeaderSize: 128 * 1024 }, (request, response) => {
  request.on('end', () => response.end())
  request.resume()
})
server.on('clientError', (_error, socket) => socket.end())
server.listen(0, '127.0.0.1', () => {
  // a TCP server has an AddressInfo
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
