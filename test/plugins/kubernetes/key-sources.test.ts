import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import type { Answer } from '../../support/client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { type PodMount, startPods, told } from './pods.ts'

const pods = shared(() => startPods())
const denied = '403 permission denied'

async function mountByKeys(more: object = {}) {
  const { cluster, mount } = await pods()
  return mount({ verification: 'keys', issuer: cluster.issuer, token_reviewer_jwt: '', ...more })
}

type Source = {
  kind: string
  url: string
  keys: Record<string, unknown>[]
  fetches: Record<string, unknown>[]
  alerts: { kind: string; text: string }[]
  document: Record<string, string> | null
}

async function sourcesOf({ root, path }: PodMount, query = ''): Promise<Source[]> {
  const answer = await root.read(`${path}/keys${query}`)
  expect(answer.status, answer.text).toBe(200)
  return (answer.body.data as unknown as { sources: Source[] }).sources
}

/** The thumbprint of the key that signs the tokens of pods. */
const signerPin = async () => {
  const { cluster } = await pods()
  return calculateJwkThumbprint(cluster.keys.current('RS256').jwk)
}

const listOf = ({ body }: Answer, name: string) =>
  ((body.data as Record<string, unknown> | undefined)?.[name] ?? []) as Record<string, unknown>[]

describe('the timeline of a cluster’s keys', () => {
  test('has the published keys, logins, fetches and the document, and alerts', async () => {
    const clock = new FakeClock(Date.now())
    await using own = await startPods({ clock })
    const { cluster } = own
    const at = await own.mount({ verification: 'keys', issuer: cluster.issuer })
    expect(await sourcesOf(at)).toMatchObject([{ kind: 'jwks', keys: [], fetches: [], document: null }])
    const pin = await calculateJwkThumbprint(cluster.keys.current('RS256').jwk)

    expect(told(await at.login())).toBe('200 ok')
    const [first] = await sourcesOf(at)
    clock.advance(7200)
    cluster.misbehave(
      {
        kind: 'answer',
        answer: { status: 200, body: { issuer: cluster.issuer, jwks_uri: `${cluster.url}/elsewhere` } },
      },
      '/.well-known',
    )
    cluster.misbehave(
      { kind: 'answer', answer: { status: 500, body: { message: 'inner secret' } } },
      '/elsewhere',
    )
    const [later] = await sourcesOf(at, '?refresh=true')

    expect(first).toMatchObject({
      url: `${cluster.url}/.well-known/openid-configuration`,
      document: { issuer: cluster.issuer, jwks_uri: expect.stringMatching(/\/openid\/v1\/jwks$/) },
      fetches: [{ of: 'keys', ok: true }],
      alerts: [],
    })
    const time = expect.stringMatching(/^20/)
    const used = first?.keys.find(({ thumbprint }) => thumbprint === pin)
    expect(used).toMatchObject({ type: 'RSA', size: 2048, current: true, allowed: true, first_login: time })
    expect(first?.keys.filter(({ first_login }) => first_login !== null)).toEqual([used])
    expect(later?.alerts.map(({ kind }) => kind)).toEqual(['document_changed'])
    expect(later?.fetches[0]).toMatchObject({ ok: false, error: expect.stringContaining('500') })
    expect(JSON.stringify(later)).not.toContain('inner secret')
    const metrics = (await own.server.root.read('sys/metrics?format=prometheus')).text
    expect(metrics).toContain(`gatehouse_key_alerts_total{mount="${at.path}/",kind="document_changed"} 1`)
  })

  test('has PEM keys, also of a mount that asks the cluster, and nothing where the cluster alone judges', async () => {
    const { cluster, mount } = await pods()
    const at = await mount({ pem_keys: [cluster.publicKeyPem()] })

    expect(told(await at.login())).toBe('200 ok')

    const [source] = await sourcesOf(at)
    expect(source).toMatchObject({ kind: 'static', keys: [{ thumbprint: await signerPin(), current: true }] })
    expect(source?.keys[0]?.['first_login']).toEqual(expect.stringMatching(/^20/))
    await at.config()
    expect(await sourcesOf(at)).toEqual([])
  })

  test('a read needs the path, and the configuration', async () => {
    const at = await mountByKeys()
    const reader = async (rules: string) => {
      await at.root.write('sys/policies/acl/keys', { policy: rules })
      const { body } = await at.root.write('auth/token/create', { policies: ['keys'] })
      return (await pods()).server.as(String(body.auth?.client_token)).read(`${at.path}/keys`)
    }
    const readAll = `path "${at.path}/*" { capabilities = ["read"] }`

    expect((await reader(`path "${at.path}/status" { capabilities = ["read"] }`)).status).toBe(403)
    expect((await reader(`${readAll} path "${at.path}/config" { capabilities = ["deny"] }`)).status).toBe(403)
    expect((await reader(readAll)).status).toBe(200)
  })
})

describe('pinned keys of a cluster', () => {
  test('a token by another key is refused, and only the operator learns why', async () => {
    const pin = await signerPin()
    const at = await mountByKeys({ allowed_key_thumbprints: [pin] })
    expect(told(await at.login())).toBe('200 ok')
    const { cluster } = await pods()
    const jwt = await cluster.token('dev', 'web', { algorithm: 'ES256' })
    const other = await calculateJwkThumbprint(cluster.keys.current('ES256').jwk)

    expect(told(await at.login({ jwt }))).toBe(denied)

    const cause = `the key ${other} is not in allowed_key_thumbprints`
    expect(await at.lastFailure()).toMatchObject({ reason: 'key_not_allowed', check: 'signature', cause })
    const explained = await at.root.write(`${at.path}/explain`, { role: 'r', jwt })
    expect(listOf(explained, 'checks').find(({ verdict }) => verdict === 'fail')).toMatchObject({
      name: 'signature',
      reason: 'key_not_allowed',
      expected: [pin],
      detail: cause,
    })
    await at.config({ verification: 'keys', issuer: cluster.issuer })
    expect(told(await at.login({ jwt }))).toBe('200 ok')
  })

  test('PEM keys are pinned too, and a renewal obeys the pins of the moment', async () => {
    const { cluster, server } = await pods()
    const keys = { verification: 'keys', issuer: cluster.issuer, pem_keys: [cluster.publicKeyPem()] }
    const at = await mountByKeys(keys)
    const { body } = await at.login()
    const holder = server.as(String(body.auth?.client_token))
    const renewed = async () => told(await holder.write('auth/token/renew-self', {}))
    expect(await renewed()).toBe('200 ok')

    await at.config({ ...keys, allowed_key_thumbprints: ['A'.repeat(43)] })

    expect(told(await at.login())).toBe(denied)
    expect(await renewed()).toContain('during renewal: permission denied')
    await at.config({ ...keys, allowed_key_thumbprints: [await signerPin()] })
    expect([told(await at.login()), await renewed()]).toEqual(['200 ok', '200 ok'])
  })

  test('a pin is a thumbprint, needs keys, and a read shows it only if it is set', async () => {
    const at = await mountByKeys()
    const { cluster } = await pods()
    const pin = await signerPin()
    const write = async (fields: object) => told(await at.config({ issuer: cluster.issuer, ...fields }))
    const shown = async () => (await at.root.read(`${at.path}/config`)).body.data?.['allowed_key_thumbprints']

    expect(await write({ verification: 'keys', allowed_key_thumbprints: ['x'] })).toContain(
      '400 invalid allowed_key_thumbprints: "x" is not a SHA-256 thumbprint',
    )
    expect(await write({ allowed_key_thumbprints: [pin] })).toBe(
      `400 'allowed_key_thumbprints' needs verification "keys": the cluster does not say which key signed`,
    )
    expect(await shown()).toBeUndefined()
    expect(await write({ verification: 'keys', allowed_key_thumbprints: [pin] })).toBe('200 ok')
    expect(await shown()).toEqual([pin])
  })

  test('the linter finds pins without a key, and a what-if says what other pins mean', async () => {
    const { cluster } = await pods()
    const pin = await signerPin()
    const gone = 'A'.repeat(43)
    const at = await mountByKeys({ allowed_key_thumbprints: [pin, gone] })
    expect(told(await at.login())).toBe('200 ok')

    const findings = listOf(await at.root.read(`${at.path}/lint`), 'findings')
    const report = await at.root.write(`${at.path}/config/what-if`, {
      kubernetes_host: cluster.url,
      kubernetes_ca_cert: cluster.caPem,
      disable_local_ca_jwt: true,
      verification: 'keys',
      issuer: cluster.issuer,
    })

    expect(findings.find(({ code }) => code === 'pin_without_key')).toMatchObject({
      field: 'allowed_key_thumbprints',
      text: `[${gone}] are thumbprints of no current key`,
    })
    expect(listOf(report, 'admits_more')).toContainEqual({
      field: 'allowed_key_thumbprints',
      text: 'tokens that any key of the source has signed',
    })
  })
})
