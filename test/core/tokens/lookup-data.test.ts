import { expect, test } from 'vitest'
import { lookupData } from '../../../src/core/tokens/acts/lookup-data.ts'
import { createInitialRootToken } from '../../../src/core/tokens/store/root-token.ts'
import { openTokenFixture, tokenMount } from '../../support/token-fixture.ts'

const plain = { identityPolicies: [], namespacePath: '' }

test('the lookup of the initial root token shows exactly its keys', async () => {
  await using fixture = await openTokenFixture()
  const id = await createInitialRootToken({ ...fixture.parts, tokenMount })

  const shown = lookupData(await fixture.lookup(id), { id, now: fixture.clock.now(), ...plain })

  expect(shown).toEqual({
    id,
    accessor: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
    policies: ['root'],
    path: 'auth/token/root',
    meta: null,
    display_name: 'root',
    num_uses: 0,
    orphan: true,
    creation_time: 1767323045,
    creation_ttl: 0,
    expire_time: null,
    ttl: 0,
    explicit_max_ttl: 0,
    entity_id: '',
    type: 'service',
  })
})

test('a development root token looks like an orphan created with auth/token/create', async () => {
  await using fixture = await openTokenFixture()

  const shown = lookupData(fixture.root, { id: 'root', now: fixture.clock.now(), ...plain })

  expect(shown).toMatchObject({
    path: 'auth/token/create',
    display_name: 'token',
    orphan: true,
    renewable: false,
    issue_time: '2026-01-02T03:04:05.25Z',
  })
})

test('the lookup of a login token shows its times, remaining TTL, identity policies and namespace', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({
    ttl: 3600,
    policies: ['web'],
    boundCidrs: ['127.0.0.1'],
    explicitMaxTtl: 7200,
  })
  fixture.clock.advance(60)

  const context = { id: '', now: fixture.clock.now(), identityPolicies: ['p'], namespacePath: 'team/' }
  const shown = lookupData(await fixture.lookup(auth.client_token), context)

  expect(shown).toEqual({
    id: '',
    accessor: auth.accessor,
    policies: ['default', 'web'],
    path: 'auth/jwt/login',
    meta: { role: 'dev' },
    display_name: 'jwt-alice',
    num_uses: 0,
    orphan: true,
    creation_time: 1767323045,
    creation_ttl: 3600,
    expire_time: '2026-01-02T04:04:05.25Z',
    ttl: 3540,
    explicit_max_ttl: 7200,
    entity_id: auth.entity_id,
    type: 'service',
    bound_cidrs: ['127.0.0.1'],
    login_metadata: { role: 'dev' },
    login_accessor: 'auth_jwt_1',
    issue_time: '2026-01-02T03:04:05.25Z',
    renewable: true,
    identity_policies: ['p'],
    external_namespace_policies: {},
    namespace_path: 'team/',
  })
})

test('the lookup after a renewal shows its time and keeps the TTL at creation', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({ ttl: 3600 })
  fixture.fixture.roleTerms = { ok: true, ttl: 600, maxTtl: 0, period: 0 }
  fixture.clock.advance(60)
  await fixture.renew(await fixture.lookup(auth.client_token))

  const shown = lookupData(await fixture.lookup(auth.client_token), {
    id: '',
    now: fixture.clock.now(),
    ...plain,
  })

  expect(shown).toMatchObject({
    creation_ttl: 3600,
    ttl: 600,
    last_renewal: '2026-01-02T03:05:05.25Z',
    last_renewal_time: 1767323105,
  })
})
