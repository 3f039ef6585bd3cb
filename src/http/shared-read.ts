import type { NonSharedBuffer } from 'node:buffer'
import { Socket } from 'node:net'

/**
 * What `net.Socket`'s documented option `onread` sets on a socket; there is no documented way to set it on an
 * accepted one.
 */
type SharedReader = { [key: symbol]: unknown; _handle?: { useUserBuffer?: (buffer: Buffer) => void } | null }

const symbols = Object.getOwnPropertySymbols(new Socket())
const bufferKey = symbols.find(({ description }) => description === 'kBuffer')
const callbackKey = symbols.find(({ description }) => description === 'kBufferCb')

const shared = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * Makes the socket read into one buffer for all connections instead of allocating 64 KiB per read. `take`
 * gets a view that is valid until it returns. If this Node.js does not support it, nothing changes: bytes
 * arrive as `data` events, as they still do for what was put back with `unshift`.
 */
export function readShared(socket: Socket, take: (bytes: NonSharedBuffer) => void): void {
  // a Socket has these keys; its type only says that they may exist
  const reader = socket as unknown as SharedReader
  const handle = reader._handle
  if (bufferKey === undefined || callbackKey === undefined || typeof handle?.useUserBuffer !== 'function')
    return
  reader[bufferKey] = shared
  reader[callbackKey] = (length: number) => {
    const bytes = shared.subarray(0, length)
    // TLS passes on what it has decrypted although the socket is paused: what was put back comes first
    if (socket.isPaused() || socket.readableLength > 0) return socket.push(Buffer.from(bytes))
    take(bytes)
    return true
  }
  handle.useUserBuffer(shared)
}
