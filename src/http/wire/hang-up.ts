import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * The listeners for an event of a connection: pipelined requests share one, because Node.js warns of more
 * than a few.
 */
type Waiting = WeakMap<Duplex, Set<() => void>>

const waitingByEvent: Record<'end' | 'close', Waiting> = { end: new WeakMap(), close: new WeakMap() }

/**
 * `listener` is called when the connection, or the request's stream of HTTP/2, is gone, at once if it already
 * is; call the returned function to stop listening.
 */
export function onHangUp({ stream, socket }: IncomingMessage, listener: () => void): () => void {
  const line = stream ?? socket
  if (!line.destroyed) return listen(line, 'close', listener)
  listener()
  return () => undefined
}

/**
 * Like `onHangUp`, and also if the client has ended its side: it sends nothing more, but may still read its
 * response. Over HTTP/2, every client ends its side of a request. `listener` may be called twice.
 */
export function onLastByte(request: IncomingMessage, listener: () => void): () => void {
  const stopListening = onHangUp(request, listener)
  if (request.stream !== undefined) return stopListening
  const { socket } = request
  if (socket.readableEnded) listener()
  const stopListeningToEnd = listen(socket, 'end', listener)
  return () => {
    stopListening()
    stopListeningToEnd()
  }
}

function listen(line: Duplex, event: 'end' | 'close', listener: () => void): () => void {
  const listeners = waitingByEvent[event].get(line) ?? listenersOf(line, event)
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function listenersOf(line: Duplex, event: 'end' | 'close'): Set<() => void> {
  const listeners = new Set<() => void>()
  waitingByEvent[event].set(line, listeners)
  line.once(event, () => {
    for (const listener of listeners) listener()
  })
  return listeners
}
