import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { startCredentialProvider } from '../../support/credential-provider.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { inlineLogin, issuer, openJwtDesk, outcomeOf, written } from '../../support/jwt-desk.ts'
import { emptyDatabase } from '../../support/postgres.ts'
import { practiceType } from '../../support/practice-type.ts'
import { sealKey } from '../../support/replicas.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('pages of other origins may send the headers only if they are configured', async () => {
  await using desk = await openJwtDesk()
  const headers = ['X-Vault-Inline-Auth-Path', 'X-Vault-Inline-Auth-Parameter-jwt']
  const allowed = async () => {
    const { headers: sent } = await desk.anonymous.call('OPTIONS', 'kv/x', undefined, {
      headers: {
        Origin: 'https://app.example.com',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': headers.join(', '),
      },
    })
    return String(sent['access-control-allow-headers'])
  }
  const cors = { allowed_origins: ['https://app.example.com'] }

  await desk.root.write('sys/config/cors', cors)
  for (const header of headers) expect(await allowed()).not.toContain(header)
  await desk.root.write('sys/config/cors', { ...cors, allowed_headers: headers })
  for (const header of headers) expect(await allowed()).toContain(header)
  const served = await desk.ask('kv/x', { ...desk.head(), Origin: 'https://app.example.com' })
  expect([served.status, served.headers['access-control-allow-origin']]).toEqual([
    200,
    'https://app.example.com',
  ])
})

describe('slow requests', () => {
  test('the log and a backup are served to the caller of the login', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('gatehouse.db')}`, SEAL_KEY: sealKey }
    await using desk = await openJwtDesk({ settings })
    await written(desk.root, 'sys/policies/acl/node', {
      policy: 'path "sys/*" { capabilities = ["read", "sudo"] }',
    })
    await desk.role('node', { token_policies: ['node'] })
    const head = desk.head({ role: 'node' })
    const headers = Object.fromEntries(Object.entries(head).map(([name, value]) => [name, String(value)]))

    const snapshot = await desk.ask('sys/storage/snapshot', head)
    const status = await new Promise((resolve, reject) => {
      const followed = request(`${desk.url}/v1/sys/monitor`, { headers }, (response) => {
        resolve(response.statusCode)
        response.destroy()
      })
      followed.on('error', reject).end()
    })

    expect([snapshot.status, status]).toEqual([200, 200])
    expect(snapshot.text.length).toBeGreaterThan(1_000)
  })
})

describe('a lease', () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5))
  const practiceFor = (providerUrl: string) =>
    practiceType({ providerUrl, roles: new Map([['ci', { ttl: 3600, maxTtl: 0, renewable: true }]]) })

  test('survives a restart, is renewed up to the lifetime of the login, and its secret is gone after that', async () => {
    await using provider = await startCredentialProvider()
    await using database = await emptyDatabase()
    const options = {
      clock,
      plugins: [practiceFor(provider.url)],
      settings: { STORAGE: database.url, SEAL_KEY: sealKey },
    }
    const leased = await (async () => {
      await using desk = await openJwtDesk({ ...options, now: () => clock.now() })
      await written(desk.root, 'sys/mounts/practice', { type: 'practice' })
      await written(desk.root, 'sys/policies/acl/creds', {
        policy: 'path "practice/*" { capabilities = ["read"] }',
      })
      await desk.role('ci', { token_policies: ['creds'], token_ttl: '10m' })
      return (await desk.ask('practice/creds/ci', desk.head({ role: 'ci' }))).body
    })()

    await using again = await startTestServer(options)
    const listed = await again.root.list('sys/leases/lookup/practice/creds/ci')
    expect(listed.body.data?.keys).toEqual([String(leased.lease_id).split('/').at(-1)])
    clock.advance(400)
    const renewed = await again.root.write('sys/leases/renew', { lease_id: leased.lease_id, increment: 3600 })
    expect(renewed.body).toMatchObject({ lease_duration: 200 })
    expect(provider.alive.size).toBe(1)
    clock.advance(201)
    await provider.gone(String(leased.data?.credential))
  })

  test('ends with the namespace of the login', async () => {
    await using provider = await startCredentialProvider()
    await using desk = await openJwtDesk({ plugins: [practiceFor(provider.url)] })
    await written(desk.root, 'sys/namespaces/team', {})
    await written(desk.root, 'sys/mounts/practice', { type: 'practice' })
    await written(desk.root, 'team/sys/auth/jwt', { type: 'jwt' })
    await written(desk.root, 'team/sys/mounts/practice', { type: 'practice' })
    await written(desk.root, 'team/sys/policies/acl/creds', {
      policy: 'path "practice/*" { capabilities = ["read"] }',
    })
    const { data: config } = (await desk.root.read('auth/jwt/config')).body
    await written(desk.root, 'team/auth/jwt/config', {
      jwt_validation_pubkeys: config?.jwt_validation_pubkeys,
      accept_as_token: true,
      bound_issuer: issuer,
      default_role: 'ci',
    })
    await written(desk.root, 'team/auth/jwt/role/ci', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
      token_policies: 'creds',
    })
    for (const headers of [
      inlineLogin('team/auth/jwt/login', { jwt: desk.jwt() }),
      { 'X-Vault-Token': desk.jwt() },
    ])
      expect((await desk.ask('team/practice/creds/ci', headers)).status).toBe(200)
    expect(provider.alive.size).toBe(2)

    await desk.root.delete('sys/namespaces/team')

    await provider.gone()
    await expect
      .poll(async () =>
        outcomeOf(await desk.ask('kv/x', inlineLogin('team/auth/jwt/login', { jwt: desk.jwt() }))),
      )
      .toEqual([403, 'permission denied', true])
  })
})
