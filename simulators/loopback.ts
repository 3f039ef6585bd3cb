import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where all stand-ins listen. */
export const host = '127.0.0.1'

/** Starts a server on this port of the loopback address; 0 for any. Returns the port. */
export async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  // a TCP server that listens has an AddressInfo
  return (server.address() as AddressInfo).port
}

/** Stops a server and closes its connections. */
export async function stop(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
