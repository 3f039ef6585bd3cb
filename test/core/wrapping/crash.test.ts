import { expect, test } from 'vitest'
import { startInFolder } from '../../support/folder-server.ts'
import { startProcess } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const count = 100
/** The server is killed once this many were unwrapped. */
const enough = 40

test('after kill -9 during unwraps, each response is either wrapped or spent, and none was returned twice', async () => {
  await using folder = await temporaryFolder()
  const given = new Map<string, number>()
  const see = (secret: unknown) => given.set(String(secret), (given.get(String(secret)) ?? 0) + 1)
  const tokens: string[] = []
  {
    await using server = await startProcess({ folder: folder.path })
    const root = server.as(server.rootToken)
    for (let at = 0; at < count; at += 1) {
      const { body } = await root.write(
        'sys/wrapping/wrap',
        { secret: `secret ${at}` },
        { headers: { 'X-Vault-Wrap-TTL': '1h' } },
      )
      tokens.push(String(body.wrap_info?.token))
    }
    const waiting = [...tokens.entries()]
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [at, token] = next
        const client = at % 2 === 0 ? server.as(token) : root
        const { status, body } = await client.write(
          'sys/wrapping/unwrap',
          at % 2 === 0 ? undefined : { token },
        )
        if (status === 200) see(body.data?.secret)
        if (given.size === enough) server.signal('SIGKILL')
      }
    }
    await Promise.allSettled(Array.from({ length: 8 }, work))
  }
  const before = given.size

  await using server = await startInFolder({ folder: folder.path })
  for (const token of tokens) {
    const { status, body } = await server.as(token).write('sys/wrapping/unwrap')
    expect([200, 400]).toContain(status)
    if (status === 200) see(body.data?.secret)
  }

  expect(before).toBeGreaterThan(0)
  expect(given.size).toBeGreaterThan(before)
  expect([...given.values()].filter((times) => times > 1)).toEqual([])
})
