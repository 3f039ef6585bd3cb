import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Client } from '../support/client.ts'
import { productVersion } from '../support/product-version.ts'
import { shared } from '../support/shared.ts'
import { laterFactsOf, releasedFactsOf, releases, upgraded } from './old-store.ts'

test('each release that changes what is stored has a store here: npm run release:store', () => {
  const changes = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  const released = [...changes.matchAll(/^## (\d+\.\d+\.0) /gm)].map(([, version]) => version)

  // that of this version is added before the next one
  expect(releases).toEqual(expect.arrayContaining(released.filter((version) => version !== productVersion)))
})

const isValid = async (client: Client): Promise<boolean> =>
  (await client.read('auth/token/lookup-self')).status === 200

describe.each(['first', ...releases] as const)('on the store of version %s', (version) => {
  const opened = shared(() => upgraded(version))

  test('every token is what it was', async () => {
    const store = await opened()
    const { root, login, parent, maker, child, counted, periodic, revoked } = store.facts

    const valid = await Promise.all(
      [root, login, parent, maker, child, periodic].map((token) => isValid(store.as(token))),
    )
    const uses = await store.as(counted).read('auth/token/lookup-self')
    const renewed = await store.as(periodic).write('auth/token/renew-self')
    const note = await store.as(parent).read('cubbyhole/note')
    const made = await store.as(login).read('auth/token/lookup-self')

    expect(valid).toEqual([true, true, true, true, true, true])
    expect(await isValid(store.as(revoked))).toBe(false)
    expect(uses.body.data?.['num_uses']).toBe(4)
    expect([renewed.status, renewed.body.auth?.['lease_duration']]).toEqual([200, 86_400])
    expect(note.body.data).toEqual({ text: 'mine' })
    expect(made.body.data).toMatchObject({ entity_id: store.facts.entity, policies: ['default', 'team'] })
  })

  test('a login finds its role and its entity', async () => {
    const store = await opened()

    const login = await store.anonymous().write('auth/jwt/login', { role: 'ci', jwt: store.jwt() })
    const refused = await store
      .anonymous()
      .write('auth/jwt/login', { role: 'ci', jwt: store.jwt({ ref: 'other' }) })

    expect(login.status).toBe(200)
    expect(login.body.auth).toMatchObject({ entity_id: store.facts.entity, policies: ['default', 'team'] })
    expect(refused.status).toBe(400)
  })

  test('mounts, policies and roles can be read and changed, and stay so after a restart', async () => {
    const store = await opened()
    const { root } = store.facts
    const mounts = await store.as(root).read('sys/auth')
    const policy = await store.as(root).read('sys/policies/acl/team')
    const role = await store.as(root).read('auth/jwt/role/ci')

    const tuned = await store.as(root).write('sys/auth/ci-two/tune', { description: 'tuned' })
    const changed = await store.as(root).write('auth/jwt/role/ci', { role_type: 'jwt', token_ttl: '1h' })
    await store.restart()
    const after = await store.as(root).read('auth/jwt/role/ci')
    const mount = await store.as(root).read('sys/auth')

    expect(mounts.body.data?.['ci-two/']).toMatchObject({
      description: 'second',
      config: { default_lease_ttl: 7200 },
    })
    expect(String(policy.body.data?.['policy'])).toContain('cubbyhole/*')
    expect(role.body.data).toMatchObject({ bound_claims: { ref: 'main' }, token_ttl: 2_520_000 })
    expect([tuned.status, changed.status]).toEqual([204, 204])
    expect(after.body.data).toMatchObject({ bound_claims: { ref: 'main' }, token_ttl: 3600 })
    expect(mount.body.data?.['ci-two/']).toMatchObject({ description: 'tuned' })
  })

  test('a revoked parent ends its child', async () => {
    const store = await opened()
    const { root, maker, child } = store.facts

    await store.as(root).write('auth/token/revoke', { token: maker })

    expect([await isValid(store.as(maker)), await isValid(store.as(child))]).toEqual([false, false])
  })

  test('nothing is found damaged, also when all records are encrypted again', async () => {
    const store = await opened()
    const { root, login } = store.facts

    const rotated = await store.as(root).write('sys/rotate')
    await store.restart()

    expect(rotated.status).toBe(204)
    expect(await isValid(store.as(login))).toBe(true)
    expect(store.lines.filter(({ level }) => Number(level) >= 50)).toEqual([])
  })
})

describe.each(releases)('on the store of release %s', (version) => {
  const opened = shared(() => upgraded(version))

  test('entities, groups, messages, namespaces and settings are what they were', async () => {
    const store = await opened()
    const facts = await laterFactsOf(version)
    const root = store.as(facts.root)

    const entity = await root.read(`identity/entity/name/builder`)
    const group = await root.read('identity/group/name/Builders')
    const self = await store.as(facts.login).read('auth/token/lookup-self')
    const messages = await store.as(facts.login).read('sys/internal/ui/authenticated-messages')
    const inner = await store
      .as(facts.inner)
      .read('auth/token/lookup-self', { headers: { 'X-Vault-Namespace': 'team' } })
    const tokenRole = await root.read('auth/token/roles/deploy')
    const key = await root.read('identity/oidc/key/signing')
    const cors = await root.read('sys/config/cors')
    const status = await root.read('sys/key-status')
    const health = await root.read('sys/health')

    expect(entity.body.data).toMatchObject({ id: facts.entity, metadata: { team: 'a' } })
    expect(group.body.data).toMatchObject({ id: facts.group, member_entity_ids: [facts.entity] })
    expect(self.body.data).toMatchObject({ identity_policies: ['default', 'team'] })
    expect(JSON.stringify(messages.body.data)).toContain('Maintenance')
    expect([inner.status, inner.body.data?.['namespace_path']]).toEqual([200, 'team/'])
    expect([tokenRole.status, key.status]).toEqual([200, 200])
    expect(cors.body.data?.['allowed_origins']).toEqual(['https://app.example.com'])
    expect(status.body.data?.['term']).toBe(2)
    expect(health.body['cluster_id']).toBe(facts.cluster)
  })

  test('batch tokens, wrapped responses and leases are still good', async () => {
    const store = await opened()
    const facts = await laterFactsOf(version)
    const root = store.as(facts.root)

    const batch = await isValid(store.as(facts.batch))
    const unwrapped = await store.as(facts.wrapping).write('sys/wrapping/unwrap')
    const lease = await root.write('sys/leases/lookup', { lease_id: facts.lease })
    const config = await root.read('cloud/config')
    const role = await root.read('cloud/roles/deploy')
    const leases = await root.list('sys/leases/lookup/cloud/creds/deploy')

    expect(batch).toBe(true)
    expect(unwrapped.body.data).toEqual({ secret: 'wrapped' })
    expect(lease.body.data).toMatchObject({ id: facts.lease, renewable: true, ttl: 600 * 3600 - 60 })
    expect(config.body.data).toMatchObject({ subscription_id: facts.subscription })
    expect(JSON.stringify(role.body.data)).toContain('resourceGroups/web')
    expect(leases.body.data?.['keys']).toEqual([facts.lease.split('/').at(-1)])
  })
})

test('on the store of release 0.3.0, secrets are there, and people and programs log in', async () => {
  await using store = await upgraded('0.3.0')
  const { root, roleId, secretId } = await releasedFactsOf('0.3.0')
  const latest = await store.as(root).read('secret/data/app')
  const first = await store.as(root).read('secret/data/app?version=1')
  const person = await store.anonymous().write('auth/userpass/login/ann', { password: 'a long password' })
  const program = await store
    .anonymous()
    .write('auth/approle/login', { role_id: roleId, secret_id: secretId })
  const history = await store.as(root).list('sys/version-history')

  expect([latest, first].map(({ body }) => body.data?.['data'])).toEqual([
    { word: 'second' },
    { word: 'first' },
  ])
  expect([person, program].map(({ body }) => body.auth?.['policies'])).toEqual([
    ['default', 'team'],
    ['default', 'team'],
  ])
  expect(history.body.data?.['keys']).toEqual([...new Set(['0.3.0', productVersion])])
})
