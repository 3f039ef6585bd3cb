import { expect, test } from 'vitest'
import { createInitialRootToken } from '../../../src/core/tokens/store/root-token.ts'
import type { RenewalTerms } from '../../../src/core/tokens/store/token-fields.ts'
import { aMount, openTokenFixture, tokenMount } from '../../support/token-fixture.ts'

const terms = (changes: Partial<{ ttl: number; maxTtl: number; period: number }>): RenewalTerms => ({
  ok: true,
  ttl: 0,
  maxTtl: 0,
  period: 0,
  ...changes,
})

test('a renewal of a created token keeps the last increment as its TTL', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], ttl: '1h' })).auth.client_token,
  )

  const durations: (number | undefined)[] = []
  for (const increment of [1800, 0, 7200, 0])
    durations.push((await fixture.renew(token, increment))?.auth.lease_duration)

  expect(durations).toEqual([1800, 1800, 7200, 7200])
})

test('a period ignores the increment', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], period: '24h' })).auth.client_token,
  )

  expect((await fixture.renew(token, 60))?.auth.lease_duration).toBe(86400)
})

test('the explicit maximum ends a periodic token', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], period: '5', explicit_max_ttl: '4' })).auth.client_token,
  )
  fixture.clock.advance(2)

  expect((await fixture.renew(token))?.auth.lease_duration).toBe(2)
  fixture.clock.advance(1.9)
  await expect(fixture.renew(token)).rejects.toMatchObject({
    message: 'past the max TTL, cannot renew',
    kind: 'invalid',
    wrapped: false,
  })
})

test('a late renewal gets the remaining time, with a warning', async () => {
  await using fixture = await openTokenFixture()
  fixture.fixture.roleTerms = terms({ ttl: 600, maxTtl: 1200 })
  const id = (await fixture.login({ ttl: 600, maxTtl: 1200 })).auth.client_token

  fixture.clock.advance(480)
  expect(await fixture.renew(await fixture.lookup(id))).toMatchObject({
    auth: { lease_duration: 600 },
    warnings: [],
  })
  fixture.clock.advance(480)
  const warnings = ['TTL of "10m" exceeded the effective max_ttl of "4m"; TTL value is capped accordingly']
  expect(await fixture.renew(await fixture.lookup(id))).toMatchObject({
    auth: { lease_duration: 240 },
    warnings,
  })
})

test.each([
  { row: 'its TTL', now: terms({ ttl: 300 }), ttl: 300 },
  { row: 'a period set later', now: terms({ ttl: 300, period: 900 }), ttl: 900 },
  { row: 'its greatest TTL', now: terms({ ttl: 900, maxTtl: 200 }), ttl: 200 },
])('a renewal uses the current $row of the role', async ({ now, ttl }) => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup((await fixture.login({ ttl: 600 })).auth.client_token)
  fixture.fixture.roleTerms = now

  expect((await fixture.renew(token))?.auth.lease_duration).toBe(ttl)
})

test('a renewal uses the current tuning of the mount', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup((await fixture.login({ ttl: 600 })).auth.client_token)
  const config = { ...aMount().config, max_lease_ttl: 120 }
  fixture.mounts.set(token.mount_accessor, aMount({ config }))

  expect((await fixture.renew(token))?.auth.lease_duration).toBe(120)
})

test('a renewal keeps the explicit maximum of the login', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.login({ ttl: 600, explicitMaxTtl: 700 })).auth.client_token,
  )
  fixture.clock.advance(200)

  expect((await fixture.renew(token, 600))?.auth.lease_duration).toBe(500)
})

test('deleting a role ends renewals, not the token', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login()
  fixture.fixture.roleTerms = { ok: false, reason: 'role dev does not exist during renewal' }

  const text = 'failed to renew entry: role dev does not exist during renewal'
  await expect(fixture.renew(await fixture.lookup(auth.client_token))).rejects.toMatchObject({
    message: text,
    kind: 'invalid',
    wrapped: false,
  })
  expect(await fixture.tokens.lookup(auth.client_token)).toBeDefined()
})

test('the response to a renewal is like that to the login, with the uses at creation and current identity policies', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({ ttl: 600, numUses: 5, policies: ['web'] })
  const token = await fixture.tokens.spendUse(await fixture.lookup(auth.client_token))
  if (token === undefined) throw new Error('no use left')

  const renewed = await fixture.renew(token, 60, auth.client_token)

  expect(renewed?.auth).toEqual({ ...auth, lease_duration: 60, num_uses: 5 })
})

test.each([
  { row: 'not renewable', input: { policies: ['web'], renewable: false }, text: 'lease is not renewable' },
  { row: 'a root token without end', input: {}, text: 'lease is not renewable' },
])('$row: $input is not renewed', async ({ input, text }) => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup((await fixture.create(input)).auth.client_token)

  await expect(fixture.renew(token)).rejects.toMatchObject({ message: text, kind: 'invalid', wrapped: false })
  await expect(fixture.renew(token, 0, '')).rejects.toMatchObject({
    message: 'invalid request',
    kind: 'invalid',
    wrapped: true,
  })
})

test('the initial root token has no lease to renew', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(await createInitialRootToken({ ...fixture.parts, tokenMount }))

  await expect(fixture.renew(token)).rejects.toMatchObject({ message: 'invalid lease ID', wrapped: false })
  await expect(fixture.renew(token, 0, '')).rejects.toMatchObject({
    message: 'invalid request',
    wrapped: true,
  })
})

test('a renewal does not revive a token that expired or was revoked in the meantime', async () => {
  await using fixture = await openTokenFixture()
  const late = await fixture.lookup((await fixture.login({ ttl: 60 })).auth.client_token)
  const gone = await fixture.lookup((await fixture.login({ ttl: 600 })).auth.client_token)
  await fixture.revoker.revoke(gone.accessor)
  fixture.clock.advance(60)

  await expect(fixture.renew(late)).rejects.toMatchObject({ message: 'lease expired' })
  await expect(fixture.renew(gone)).rejects.toMatchObject({ message: 'token not found' })
  expect(await fixture.view.listKeys('token/')).toHaveLength(2)
})

test('a token has one expiry row, at its current end', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup((await fixture.login({ ttl: 600 })).auth.client_token)

  for (const increment of [60, 120, 30]) await fixture.renew(token, increment)

  expect(await fixture.view.listKeys('expire/')).toEqual([
    expect.stringContaining(`expire/000${fixture.clock.now() + 30_000}/`),
  ])
})

test('concurrent renewals of one token all succeed, also while its uses are spent', async () => {
  await using fixture = await openTokenFixture()
  const token = await fixture.lookup(
    (await fixture.create({ policies: ['web'], ttl: '1h', num_uses: 1000 })).auth.client_token,
  )

  const spending = Promise.all(Array.from({ length: 64 }, () => fixture.tokens.spendUse(token)))
  const renewals = await Promise.all(Array.from({ length: 64 }, (_, at) => fixture.renew(token, 100 + at)))

  expect(renewals.map((renewal) => renewal?.auth.lease_duration)).toEqual(
    Array.from({ length: 64 }, (_, at) => 100 + at),
  )
  expect(new Set((await spending).map((spent) => spent?.num_uses)).size).toBe(64)
  expect(await fixture.tokens.find(token.accessor)).toMatchObject({ num_uses: 936, granted_ttl: 163 })
  expect(await fixture.view.listKeys('expire/')).toHaveLength(1)
})
