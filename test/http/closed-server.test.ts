import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { collect } from '../support/collect.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer } from '../support/start-server.ts'

/** Serves a request and closes. The result tells whether a part of the server is still in memory. */
async function aClosedServer(settings: Record<string, string>): Promise<WeakRef<FakeClock>> {
  const clock = new FakeClock(Date.UTC(2026, 0, 1))
  await using server = await startTestServer({ clock, settings })
  expect((await server.root.read('auth/token/lookup-self')).status).toBe(200)
  return new WeakRef(clock)
}

test('a closed server leaves nothing in memory', async () => {
  const closed = await aClosedServer({ LISTEN: 'localhost:0', METRICS_LISTEN: '127.0.0.1:0' })

  const isGone = async () => {
    await nextTurn()
    collect()
    return closed.deref() === undefined
  }
  // its client's pool releases the connection only after a moment
  await expect.poll(isGone, { timeout: 15_000, interval: 300 }).toBe(true)
})
