import type { Log } from '../log/log.ts'

/** While the server is overloaded, one line in this time says so. */
const pauseMs = 10_000

/** Returns what to call for each request or connection that is refused because of overload. */
export function overloadLog(log: Log): () => void {
  let refused = 0
  let quietUntil = 0
  return () => {
    refused += 1
    const now = performance.now()
    if (now < quietUntil) return
    quietUntil = now + pauseMs
    log.warn({ event: 'overloaded', refused }, 'the server is overloaded and refuses requests or connections')
    refused = 0
  }
}
