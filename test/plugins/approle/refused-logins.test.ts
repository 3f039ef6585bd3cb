import { expect, test } from 'vitest'
import type { Answer } from '../../support/client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { startMachines } from './machines.ts'

const clock = new FakeClock()
const machines = shared(() => startMachines({ clock }))

const idOf = ({ body }: Answer) => String(body['request_id'])
const failuresOf = ({ body }: Answer) =>
  body['data']?.['failures'] as unknown as readonly Readonly<Record<string, unknown>>[]

test('a refused login is explained by its request id: the first failing check, and the cause in words', async () => {
  const { server } = await machines()
  const at = await (await machines()).mount()
  await at.role('r', { secret_id_bound_cidrs: '10.0.0.0/8' })
  await at.role('open', { bind_secret_id: true })
  const { secretId } = await at.secretId('r')
  const ends = await at.secretId('open', { ttl: 60 })
  const explained = async (refused: Answer) => {
    const { body } = await server.root.write(`${at.path}/explain`, { request_id: idOf(refused) })
    const checks = body.data?.['checks'] as unknown as { name: string; verdict: string }[]
    return {
      reason: body.data?.['reason'],
      cause: body.data?.['cause'],
      checks: checks.map(({ name, verdict }) => `${name} ${verdict}`),
    }
  }

  expect(await explained(await at.login({ roleId: '', secretId }))).toMatchObject({
    reason: 'role_missing',
    checks: ['role fail', 'lockout skipped', 'secret_id skipped', 'address skipped', 'uses skipped'],
  })
  expect(await explained(await at.login({ roleId: 'no', secretId }))).toEqual({
    reason: 'role_unknown',
    cause: 'no role of this mount has this role id',
    checks: ['lockout pass', 'role fail', 'secret_id skipped', 'address skipped', 'uses skipped'],
  })
  expect(await explained(await at.login({ roleId: 'r-id' }))).toMatchObject({
    reason: 'secret_id_missing',
    checks: ['lockout pass', 'role pass', 'secret_id fail', 'address skipped', 'uses skipped'],
  })
  expect(await explained(await at.login({ roleId: 'r-id', secretId: 'hunter2' }))).toMatchObject({
    reason: 'secret_id_unknown',
    cause: 'the role has no such secret id: it is wrong, used up, destroyed or of another role',
  })
  expect(await explained(await at.login({ roleId: 'r-id', secretId }))).toMatchObject({
    reason: 'address_not_bound',
    checks: ['lockout pass', 'role pass', 'secret_id pass', 'address fail', 'uses skipped'],
  })
  clock.advance(61_000)
  expect(await explained(await at.login({ roleId: 'open-id', secretId: ends.secretId }))).toMatchObject({
    reason: 'secret_id_unknown',
    cause: 'the secret id has expired',
  })
  const listed = await server.root.read(`${at.path}/failures`)
  expect(failuresOf(listed).map(({ role }) => role)).toEqual(['open', 'r', 'r', 'r', '', ''])
  for (const secret of ['hunter2', secretId, 'r-id']) expect(listed.text).not.toContain(secret)
})

test('failures of a role are there for who may read it, and a role id is found by its hash', async () => {
  const { server } = await machines()
  const at = await (await machines()).mount()
  await at.role('r')
  await at.role('other')
  const refused = [
    await at.login({ roleId: 'r-id', secretId: 'x' }),
    await at.login({ roleId: 'other-id', secretId: 'x' }),
    await at.login({ roleId: 'nobody', secretId: 'x' }),
  ]
  await server.root.write('sys/policies/acl/of-r', {
    policy: ['failures', 'explain', 'role/r']
      .map((below) => `path "${at.path}/${below}" { capabilities = ["read"] }`)
      .concat(`path "${at.path}/role/+" { capabilities = ["deny"] }`)
      .join('\n'),
  })
  const { body } = await server.root.write('auth/token/create', { policies: ['of-r'] })
  const operator = server.as(String(body['auth']?.['client_token']))

  const seen = failuresOf(await operator.read(`${at.path}/failures`))
  const statuses = await Promise.all(
    refused.map(async (one) => (await operator.read(`${at.path}/explain?request_id=${idOf(one)}`)).status),
  )

  const hash = async (input: string) =>
    (await server.root.write(`${at.path}/failures/hash`, { input })).body.data?.['hash']
  expect(seen.map(({ role, subject }) => [role, subject])).toEqual([
    ['', await hash('nobody')],
    ['r', await hash('r-id')],
  ])
  expect(statuses).toEqual([200, 403, 200])
})
