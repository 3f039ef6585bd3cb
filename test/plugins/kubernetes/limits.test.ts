import { expect, test } from 'vitest'
import { Turns } from '../../../src/plugins/kubernetes/cluster/turns.ts'
import { serversInTurn, testOfOneServer } from '../../support/of-one-server.ts'
import { startPods, told } from './pods.ts'

test('an address has sixteen reviews at a time, and another address does not wait for them', async () => {
  await using own = await startPods({ settings: { TRUSTED_PROXIES: '127.0.0.1' } })
  const at = await own.mount()
  const jwt = await own.cluster.token()
  const from = (address: string) =>
    own.server.anonymous.write(
      `${at.path}/login`,
      { role: 'r', jwt },
      { headers: { 'X-Forwarded-For': address } },
    )
  own.cluster.misbehave({ kind: 'silent' })
  own.cluster.requests.length = 0
  const atOnce = 16 * serversInTurn

  const flood = Array.from({ length: 2 * atOnce + 8 }, () => from('10.0.0.1'))
  await own.cluster.asked(atOnce)
  own.cluster.behave()
  const other = await from('10.0.0.2')
  const seen = own.cluster.requests.length
  await own.cluster.goDown()
  const flooded = await Promise.all(flood)

  expect(told(other)).toBe('200 ok')
  expect(seen).toBe(atOnce + 1)
  expect(new Set(flooded.map(told))).toEqual(new Set(['403 permission denied']))
})

test('a login that has only waited is refused as one of too many, and asks nothing', async () => {
  const turns = new Turns()
  let asked = 0
  const ask = async () => ++asked

  await expect(turns.run('10.0.0.1', performance.now(), ask)).rejects.toThrow('too many logins are waiting')
  expect(asked).toBe(0)
  await expect(turns.run('10.0.0.1', performance.now() + 60_000, ask)).resolves.toBe(1)
})

test('500 logins of an address wait, and no more; another address does not wait', async () => {
  const turns = new Turns()
  const { promise: answered, resolve: answer } = Promise.withResolvers<string>()
  const login = (address: string) => turns.run(address, performance.now() + 60_000, () => answered)

  const waiting = Array.from({ length: 516 }, () => login('10.0.0.1'))
  await expect(login('10.0.0.1')).rejects.toThrow('too many logins are waiting')
  const other = login('10.0.0.2')
  answer('yes')

  expect(await other).toBe('yes')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['yes']))
})

test('a login whose cluster hangs ends within its time, and no other mount waits for it', async () => {
  await using own = await startPods()
  const at = await own.mount()
  own.cluster.misbehave({ kind: 'silent' })
  const hanging = at.login()
  await own.cluster.asked(1)

  expect((await own.server.root.read('sys/auth')).status).toBe(200)
  own.cluster.behave()
  expect(told(await at.login())).toBe('200 ok')
  await own.cluster.goDown()
  expect(told(await hanging)).toBe('403 permission denied')
})

test('logins share the connections to a cluster', async () => {
  await using own = await startPods()
  const at = await own.mount()

  for (let login = 0; login < 8; login++) expect(told(await at.login())).toBe('200 ok')

  expect(own.cluster.connections).toBe(serversInTurn)
})

test('a cluster that hangs holds 64 connections at most', async () => {
  await using own = await startPods({ settings: { TRUSTED_PROXIES: '127.0.0.1' } })
  const at = await own.mount()
  const jwt = await own.cluster.token()
  own.cluster.misbehave({ kind: 'silent' })
  own.cluster.requests.length = 0
  const most = 64 * serversInTurn

  const hanging = Array.from({ length: 2 * most }, (_, number) =>
    own.server.anonymous.write(
      `${at.path}/login`,
      { role: 'r', jwt },
      { headers: { 'X-Forwarded-For': `10.0.0.${number % 16}` } },
    ),
  )
  await own.cluster.asked(most)
  const { status } = await own.server.root.read('sys/auth')
  const { connections } = own.cluster
  await own.cluster.goDown()
  const ended = await Promise.all(hanging)

  expect(status).toBe(200)
  expect(connections).toBe(most)
  expect(new Set(ended.map(told))).toEqual(new Set(['403 permission denied']))
})

test('no token is in an answer, in the log or in what is kept of refusals', async () => {
  await using own = await startPods()
  const at = await own.mount()
  const jwt = await own.cluster.token()
  own.cluster.misbehave({
    kind: 'answer',
    answer: {
      status: 500,
      body: { kind: 'Status', message: `${own.cluster.reviewer} ${jwt} ${'x'.repeat(1000)}` },
    },
  })

  const answer = await at.login({ jwt })
  const failures = await at.root.read(`${at.path}/failures`)
  const status = await at.root.read(`${at.path}/status`)
  const explained = await at.root.write(`${at.path}/explain`, { role: 'r', jwt })

  for (const { text } of [answer, failures, status, explained]) {
    expect(text).not.toContain(jwt.split('.')[2])
    expect(text).not.toContain(own.cluster.reviewer)
  }
  expect(String((await at.lastFailure())['cause']).length).toBeLessThan(300)
})

test('a cluster that names the token of its reviewer as somebody does not show it', async () => {
  await using own = await startPods()
  const at = await own.mount()
  const said = (status: object) =>
    own.cluster.misbehave({ kind: 'answer', answer: { status: 201, body: { status } } })

  const jwt = await own.cluster.token()
  const explained = async () => (await at.root.write(`${at.path}/explain`, { role: 'r', jwt })).text

  said({ authenticated: true, audiences: [own.cluster.reviewer] })
  const audiences = await explained()
  said({ authenticated: true, audiences: [own.cluster.issuer], user: { username: own.cluster.reviewer } })
  const names = await explained()

  expect(audiences).toContain('review_audience')
  expect(names).toContain('review_mismatch')
  expect(audiences + names).not.toContain(own.cluster.reviewer)
})

testOfOneServer('a forged token counts as refused although the caller asks; lost keys do not', async () => {
  await using own = await startPods({ settings: { LOGIN_FAILURES: '2/1m' } })
  const asking = await own.mount({ token_reviewer_jwt: '' })
  const keyed = await own.mount({ verification: 'keys', issuer: own.cluster.issuer })
  const forged = `${(await own.cluster.token()).split('.').slice(0, 2).join('.')}.AAAA`
  await own.cluster.goDown()
  const keyless = [await keyed.login(), await keyed.login(), await keyed.login()]
  await own.cluster.comeBack()

  const forgeries = [
    await asking.login({ jwt: forged }),
    await asking.login({ jwt: forged }),
    await asking.login(),
  ]

  expect(keyless.map(({ status }) => status)).toEqual([403, 403, 403])
  expect(forgeries.map(({ status }) => status)).toEqual([403, 403, 429])
})
