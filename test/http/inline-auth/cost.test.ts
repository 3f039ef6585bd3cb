import { expect, test } from 'vitest'
import { issuer, jwtDeskOn, openJwtDesk } from '../../support/jwt-desk.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { many } from '../../support/rounds.ts'
import { startTestServer } from '../../support/start-server.ts'

testOfOneServer(
  'hundreds of requests of an unchanged identity write nothing and leave nothing behind',
  async () => {
    await using desk = await openJwtDesk()
    await desk.configure({ accept_as_token: true, bound_issuer: issuer })
    const head = desk.head()
    const token = { 'X-Vault-Token': desk.jwt() }
    const kept = async () => {
      const tokens = await desk.root.list('auth/token/accessors')
      const leases = await desk.root.list('sys/leases/lookup/')
      const { text } = await desk.root.read('/metrics')
      return [
        /^gatehouse_storage_commit_steps_count (\d+)$/m.exec(text)?.[1],
        tokens.body.data?.keys,
        leases.body.data?.keys,
      ]
    }
    for (const headers of [head, token]) expect((await desk.ask('kv/x', headers)).status).toBe(200)
    const before = await kept()
    expect(before[0]).toMatch(/^\d+$/)

    const statuses = new Set<number>()
    const askOften = async () => {
      for (let count = 0; count < 100; count += 1)
        for (const headers of [head, token]) statuses.add((await desk.ask('kv/x', headers)).status)
    }
    await Promise.all(Array.from({ length: many(3, 10) }, askOften))

    expect([...statuses]).toEqual([200])
    expect(await kept()).toEqual(before)
  },
)

test('metrics count logins by what carried them', async () => {
  // counters begin with the server
  await using desk = await jwtDeskOn(await startTestServer())
  await desk.configure({ accept_as_token: true, bound_issuer: issuer })
  await desk.ask('kv/x')
  await desk.ask('kv/x', { 'X-Vault-Token': desk.jwt() })
  await desk.anonymous.write('auth/jwt/login', { role: 'dev', jwt: desk.jwt() })

  const { text } = await desk.root.read('/metrics')

  for (const kind of ['login', 'inline', 'token'])
    expect(text).toContain(
      `gatehouse_logins_total{mount="auth/jwt/",method="jwt",kind="${kind}",result="ok",reason=""} 1`,
    )
})
