import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Operating systems give out higher ports by themselves: nobody gets this one meanwhile by chance. */
const [lowest, highest] = [10_000, 30_000]

/** A port of 127.0.0.1 on which nobody listens now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true))
      server.once('error', () => resolve(false))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
