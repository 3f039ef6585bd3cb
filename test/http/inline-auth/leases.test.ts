import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCredentialProvider } from '../../support/credential-provider.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type JwtDesk, openJwtDesk, outcomeOf, written } from '../../support/jwt-desk.ts'
import { practiceType } from '../../support/practice-type.ts'

const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
const stack = new AsyncDisposableStack()
let desk: JwtDesk
let provider: Awaited<ReturnType<typeof startCredentialProvider>>
beforeAll(async () => {
  provider = stack.use(await startCredentialProvider())
  const roles = new Map([['ci', { ttl: 3600, maxTtl: 0, renewable: true }]])
  const plugins = [practiceType({ providerUrl: provider.url, roles })]
  desk = stack.use(await openJwtDesk({ clock, now: () => clock.now(), plugins }))
  await written(desk.root, 'sys/mounts/practice', { type: 'practice' })
  await written(desk.root, 'sys/policies/acl/creds', {
    policy:
      'path "practice/*" { capabilities = ["read"] }\npath "sys/leases/*" { capabilities = ["update"] }',
  })
  await desk.role('ci', { token_policies: ['creds'], token_ttl: '10m' })
})
afterAll(() => stack.disposeAsync())

const as = (sub = 'joe', role = 'ci') => desk.head({ role, jwt: desk.jwt({ sub }) })
const leaseOf = async (sub: string) => (await desk.ask('practice/creds/ci', as(sub))).body
const isThere = async (lease_id: unknown) =>
  (await desk.root.write('sys/leases/lookup', { lease_id })).status === 200

test('a secret has a lease that ends with the time that the token of the login would have', async () => {
  const { lease_id, lease_duration, renewable, data } = await leaseOf('joe')

  expect({ lease_duration, renewable }).toEqual({ lease_duration: 600, renewable: true })
  clock.advance(300)
  const renewed = await desk.ask('sys/leases/renew', as('other'), {
    method: 'POST',
    body: { lease_id, increment: 3600 },
  })
  expect(renewed.body).toMatchObject({ lease_duration: 300, warnings: null })
  clock.advance(301)
  await provider.gone(String(data?.credential))
})

test('the tokens of its entity end it, its entity does not', async () => {
  const { lease_id, data: issued } = await leaseOf('ann')
  const { data } = (await desk.ask('auth/token/lookup-self', as('ann'))).body
  await desk.root.write(`identity/entity/id/${data?.entity_id}`, { disabled: true })
  expect(await isThere(lease_id)).toBe(true)
  await desk.root.write(`identity/entity/id/${data?.entity_id}`, { disabled: false })

  await desk.root.write(`identity/entity/id/${data?.entity_id}/revoke-tokens`)

  await provider.gone(String(issued?.credential))
})

test('anybody who may revoke leases can end it', async () => {
  const { lease_id } = await leaseOf('joe')

  const revoked = await desk.ask('sys/leases/revoke', as('eve'), { method: 'POST', body: { lease_id } })

  expect(revoked.status).toBe(204)
  expect(await isThere(lease_id)).toBe(false)
})

test('a role with one use gets no lease', async () => {
  await desk.role('one', { token_policies: ['creds'], token_num_uses: 1 })

  for (const more of [[], ['60']])
    expect(
      outcomeOf(await desk.ask('practice/creds/ci', { ...as('joe', 'one'), 'X-Vault-Wrap-TTL': more })),
    ).toEqual([
      400,
      'Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.',
      false,
    ])
  await desk.role('two', { token_policies: ['creds'], token_num_uses: 2 })
  expect((await desk.ask('practice/creds/ci', as('joe', 'two'))).status).toBe(200)
})

test('a wrapped secret has the same lease inside', async () => {
  const { body } = await desk.ask('practice/creds/ci', { ...as(), 'X-Vault-Wrap-TTL': '60' })

  const inside = await desk.as(String(body.wrap_info?.token)).write('sys/wrapping/unwrap')

  expect(inside.body).toMatchObject({ lease_duration: 600 })
  expect(await isThere(inside.body.lease_id)).toBe(true)
})

test('disabling the mount of the login ends it', async () => {
  await written(desk.root, 'sys/auth/gone', { type: 'jwt' })
  const { data } = (await desk.root.read('auth/jwt/config')).body
  await written(desk.root, 'auth/gone/config', { jwt_validation_pubkeys: data?.jwt_validation_pubkeys })
  await written(desk.root, 'auth/gone/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    token_policies: 'creds',
  })
  const { data: issued } = (
    await desk.ask('practice/creds/ci', { ...as(), 'X-Vault-Inline-Auth-Path': 'auth/gone/login' })
  ).body

  await desk.root.delete('sys/auth/gone')

  await provider.gone(String(issued?.credential))
})
