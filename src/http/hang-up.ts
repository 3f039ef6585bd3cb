import type { Socket } from 'node:net'

/** Who waits for the end of a connection: requests sent at once share one, and a listener for each would be more than Node.js takes without a warning. */
const waiting = new WeakMap<Socket, Set<() => void>>()

/** `listener` is called when the connection is gone, at once if it is already; call what comes back when nobody listens any longer. */
export function onHangUp(socket: Socket, listener: () => void): () => void {
  if (socket.destroyed) {
    listener()
    return () => undefined
  }
  const listeners = waiting.get(socket) ?? listenersOf(socket)
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function listenersOf(socket: Socket): Set<() => void> {
  const listeners = new Set<() => void>()
  waiting.set(socket, listeners)
  socket.once('close', () => {
    for (const listener of listeners) listener()
  })
  return listeners
}
