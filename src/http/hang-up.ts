import type { Socket } from 'node:net'

/**
 * The listeners for an event of a connection: pipelined requests share one, because Node.js warns of more
 * than a few.
 */
type Waiting = WeakMap<Socket, Set<() => void>>

const waitingByEvent: Record<'end' | 'close', Waiting> = { end: new WeakMap(), close: new WeakMap() }

/**
 * `listener` is called when the connection is gone, at once if it already is; call the returned function to
 * stop listening.
 */
export function onHangUp(socket: Socket, listener: () => void): () => void {
  if (!socket.destroyed) return listen(socket, 'close', listener)
  listener()
  return () => undefined
}

/**
 * Like `onHangUp`, and also if the client has ended its side: it sends nothing more, but may still read its
 * response. `listener` may be called twice.
 */
export function onLastByte(socket: Socket, listener: () => void): () => void {
  const stopListening = onHangUp(socket, listener)
  if (socket.readableEnded) listener()
  const stopListeningToEnd = listen(socket, 'end', listener)
  return () => {
    stopListening()
    stopListeningToEnd()
  }
}

function listen(socket: Socket, event: 'end' | 'close', listener: () => void): () => void {
  const listeners = waitingByEvent[event].get(socket) ?? listenersOf(socket, event)
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function listenersOf(socket: Socket, event: 'end' | 'close'): Set<() => void> {
  const listeners = new Set<() => void>()
  waitingByEvent[event].set(socket, listeners)
  socket.once(event, () => {
    for (const listener of listeners) listener()
  })
  return listeners
}
