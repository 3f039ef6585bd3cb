import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { borrowServer } from '../../../support/borrowed-server.ts'
import type { Client } from '../../../support/client.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { startInFolder } from '../../../support/folder-server.ts'
import { startTestServer } from '../../../support/start-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { startTwoServers } from '../../../support/two-servers.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner, type Signer } from '../signer.ts'

const [one, other] = [aSigner('ES256', { kid: 'one' }), aSigner('RS256', { kid: 'other' })]
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'joe' }
const well = '/.well-known/openid-configuration'

type Source = {
  keys: Record<string, unknown>[]
  fetches: Record<string, unknown>[]
  alerts: { kind: string; text: string }[]
  document: Record<string, string> | null
}

async function configure(root: Client, config: object): Promise<void> {
  const answers = [
    await root.write('sys/auth/k', { type: 'jwt' }),
    await root.write('auth/k/config', config),
    await root.write('auth/k/role/ci', role),
  ]
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
}

const logIn = async (client: Client, signer: Signer, now = Date.now()) => {
  const iat = Math.floor(now / 1000)
  const jwt = signer.sign({ sub: 'joe', iat, exp: iat + 600 })
  return (await client.write('auth/k/login', { role: 'ci', jwt })).status
}

async function sourcesOf(root: Client, query = ''): Promise<Source[]> {
  const answer = await root.read(`auth/k/keys${query}`)
  expect(answer.status, answer.text).toBe(200)
  return (answer.body.data as unknown as { sources: Source[] }).sources
}

async function firstSource(root: Client, query = ''): Promise<Source> {
  const [source] = await sourcesOf(root, query)
  if (source === undefined) throw new Error('there is no source')
  return source
}

describe('the timeline of a key source', () => {
  test('has keys with their facts, logins, and fetches', async () => {
    await using issuer = await startProvider({ '/keys': jwksOf(one, other) })
    await using server = await borrowServer()
    await configure(server.root, { jwks_url: `${issuer.url}/keys` })
    expect(await sourcesOf(server.root)).toMatchObject([{ keys: [], fetches: [], alerts: [] }])
    expect(await logIn(server.anonymous, one)).toBe(200)

    const { keys, fetches } = await firstSource(server.root)

    const time = expect.stringMatching(/^20/)
    const byId = (kid: string) => keys.find((key) => key['kid'] === kid)
    expect(byId('one')).toMatchObject({ type: 'EC', size: 256, algorithms: ['ES256'], first_login: time })
    expect(byId('other')).toMatchObject({
      type: 'RSA',
      size: 2048,
      current: true,
      allowed: true,
      first_seen: time,
      gone_since: null,
      first_login: null,
    })
    expect(fetches).toEqual([{ time, of: 'keys', ok: true, milliseconds: expect.any(Number), error: '' }])
  })

  test('says why a fetch failed, but not what the response was', async () => {
    await using issuer = await startProvider({ '/keys': jwksOf(one) })
    await using server = await borrowServer()
    await configure(server.root, { jwks_url: `${issuer.url}/keys` })
    issuer.routes.set('/keys', (answer) => answer.writeHead(500).end('inner secret'))

    const { fetches } = await firstSource(server.root, '?refresh=true')

    expect(fetches[0]).toMatchObject({ ok: false, error: expect.stringContaining('500') })
    expect(JSON.stringify(fetches)).not.toContain('inner secret')
  })

  test('survives a restart', async () => {
    await using issuer = await startProvider({ '/keys': jwksOf(one, other) })
    await using folder = await temporaryFolder()
    let before: unknown
    let token: string
    {
      await using server = await startInFolder({ folder: folder.path })
      token = server.rootToken
      const root = server.as(token)
      await configure(root, { jwks_url: `${issuer.url}/keys` })
      expect(await logIn(server.anonymous, one)).toBe(200)
      before = (await firstSource(root)).keys
    }
    await using server = await startInFolder({ folder: folder.path })

    expect((await firstSource(server.as(token))).keys).toEqual(before)
  })

  test('raises alerts that are logged and counted: one key is left, other endpoints, another issuer', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 2))
    await using issuer = await startProvider({ '/keys': jwksOf(one, other) })
    const document = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }
    issuer.routes.set(well, document)
    await using server = await startTestServer({ clock })
    await configure(server.root, { oidc_discovery_url: issuer.url })
    expect(await logIn(server.anonymous, one, clock.now())).toBe(200)
    expect((await firstSource(server.root)).document).toMatchObject(document)

    clock.advance(7200)
    issuer.routes.set('/keys', jwksOf(one))
    issuer.routes.set(well, { ...document, jwks_uri: `${issuer.url}/elsewhere` })
    const { alerts } = await firstSource(server.root, '?refresh=true')
    clock.advance(7200)
    issuer.routes.set(well, { ...document, issuer: 'https://evil.example' })
    const later = await firstSource(server.root, '?refresh=true')

    expect(alerts.map(({ kind }) => kind).toSorted()).toEqual(['document_changed', 'single_key'])
    expect(later.alerts[0]?.text).toContain('is "https://evil.example"')
    const metrics = (await server.root.read('sys/metrics?format=prometheus')).text
    expect(metrics).toContain('gatehouse_key_alerts_total{mount="auth/k/",kind="document_changed"} 2')
  })

  test('goes with its source, and a read needs the path', async () => {
    await using server = await borrowServer()
    await configure(server.root, { jwt_validation_pubkeys: [one.pem, other.pem] })
    expect((await firstSource(server.root)).keys).toHaveLength(2)
    await server.root.write('auth/k/config', { jwt_validation_pubkeys: [one.pem] })
    const kept = (await firstSource(server.root)).keys.map(({ current }) => current)
    const policy = (rule: string) => server.root.write('sys/policies/acl/keys', { policy: rule })
    await policy('path "auth/k/status" { capabilities = ["read"] }')
    const made = await server.root.write('auth/token/create', { policies: ['keys'] })
    const reader = server.as(String(made.body.auth?.client_token))

    expect(kept.toSorted()).toEqual([false, true])
    expect((await reader.read('auth/k/keys')).status).toBe(403)
    await policy('path "auth/k/keys" { capabilities = ["read"] }')
    expect((await reader.read('auth/k/keys')).status).toBe(200)
  })
})

test('a gauge tells how far the clock of each source is ahead', async () => {
  const withDate = (ahead: number) => (answer: ServerResponse) => {
    answer.setHeader('date', new Date(Date.now() + ahead * 1000).toUTCString())
    answer.end(JSON.stringify(jwksOf(one)))
  }
  await using early = await startProvider({ '/keys': withDate(7200) })
  await using late = await startProvider({ '/keys': withDate(-7200) })
  await using server = await borrowServer()
  await configure(server.root, { jwks_pairs: [early, late].map(({ url }) => ({ jwks_url: `${url}/keys` })) })

  const metrics = (await server.root.read('sys/metrics?format=prometheus')).text

  const shown = [1, 2].map((source) => {
    const labels = `mount="auth/k/",source="${source}"`
    return metrics.split(`gatehouse_key_source_clock_offset_seconds{${labels}} `)[1]?.split('\n')[0]
  })
  expect(shown.map((seconds) => Math.round(Number(seconds) / 100) * 100)).toEqual([7200, -7200])
})

test('two servers share the timeline, and a login by a key that is long gone is an alert', async () => {
  const clock = new FakeClock(Date.now())
  await using issuer = await startProvider({ '/keys': jwksOf(one, other, aSigner('ES256')) })
  await using servers = await startTwoServers({ clock })
  const { one: first, other: second } = servers
  await configure(first.root, { jwks_url: `${issuer.url}/keys` })
  await expect.poll(async () => (await second.root.read('auth/k/role/ci')).status).toBe(200)
  expect(await logIn(first.anonymous, one, clock.now())).toBe(200)
  expect(await logIn(second.anonymous, one, clock.now())).toBe(200)
  await firstSource(second.root)

  issuer.routes.set('/keys', jwksOf(other, aSigner('ES256')))
  clock.advance(1)
  await firstSource(first.root, '?refresh=true')
  clock.advance(7200)
  expect(await logIn(second.anonymous, one, clock.now())).toBe(200)
  const { keys, alerts } = await firstSource(second.root)

  expect(keys.find(({ kid }) => kid === 'one')).toMatchObject({ current: false })
  expect(alerts.map(({ kind }) => kind)).toEqual(['used_after_removal'])
  expect((await firstSource(first.root)).alerts).toEqual(alerts)
})
