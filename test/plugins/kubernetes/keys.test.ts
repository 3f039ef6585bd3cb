import { describe, expect, test } from 'vitest'
import { serversInTurn } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { startPods, told } from './pods.ts'

const pods = shared(() => startPods())
const denied = '403 permission denied'
const warning = 'deleted pods and accounts are accepted until their token ends'

async function mountByKeys(more: object = {}) {
  const { cluster, mount } = await pods()
  return mount({ verification: 'keys', issuer: cluster.issuer, token_reviewer_jwt: '', ...more })
}

describe('verification by keys', () => {
  test('accepts a token that a published key verifies, and asks for no review', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys()
    cluster.requests.length = 0

    expect(told(await at.login())).toBe('200 ok')
    expect(told(await at.login())).toBe('200 ok')

    const paths = ['/.well-known/openid-configuration', '/openid/v1/jwks']
    expect(cluster.requests.map(({ path, bearer }) => [path, bearer])).toEqual(
      Array.from({ length: serversInTurn }, () => paths.map((path) => [path, ''])).flat(),
    )
  })

  test('warns that it knows nothing of deletions', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys()

    const { body } = await at.config({ verification: 'keys', issuer: cluster.issuer })

    expect(body['warnings']).toEqual([warning])
    const jwt = await cluster.token()
    cluster.objects.deleted.add(jwt)
    expect(told(await at.login({ jwt }))).toBe('200 ok')
  })

  test('fetches the keys again for a key that is new', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys()
    expect(told(await at.login())).toBe('200 ok')
    const before = await cluster.token()

    await cluster.keys.rotate({ keepOld: false })

    for (let asked = 0; asked < serversInTurn; asked++) expect(told(await at.login())).toBe('200 ok')
    expect(told(await at.login({ jwt: before }))).toBe(denied)
    expect(await at.lastFailure()).toMatchObject({ reason: 'key_unknown' })
  })

  test('serves the keys that it has while the cluster is down', async () => {
    await using own = await startPods()
    const at = await own.mount({ verification: 'keys', issuer: own.cluster.issuer })
    const other = await own.mount({ verification: 'keys', issuer: own.cluster.issuer })
    const [first, second] = [await own.cluster.token(), await own.cluster.token()]
    for (let asked = 0; asked < serversInTurn; asked++)
      expect(told(await at.login({ jwt: first }))).toBe('200 ok')

    await own.cluster.goDown()

    expect(told(await at.login({ jwt: second }))).toBe('200 ok')
    expect(told(await other.login({ jwt: second }))).toBe(denied)
    expect(await other.lastFailure()).toMatchObject({ reason: 'keys_unavailable' })
  })

  test('needs an audience of the role, times, and a life that is not too long', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys({ token_max_lifetime: '2h' })
    await at.role('any', { audience: '' })
    const at403 = async (reason: string, login: { role?: string; jwt?: string }) => {
      expect(told(await at.login(login))).toBe(denied)
      expect(await at.lastFailure()).toMatchObject({ reason })
    }

    await at403('audience_unbound', { role: 'any' })
    await at403('times_missing', { jwt: await cluster.token('dev', 'web', { claims: { exp: undefined } }) })
    await at403('times_missing', { jwt: await cluster.token('dev', 'web', { claims: { iat: undefined } }) })
    await at403('lives_too_long', { jwt: await cluster.token('dev', 'web', { lifetime: 7201 }) })
    expect(told(await at.login({ jwt: await cluster.token('dev', 'web', { lifetime: 7200 }) }))).toBe(
      '200 ok',
    )
  })

  test('compares the issuer whatever else is set', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys()

    expect(told(await at.login({ jwt: await cluster.token('dev', 'web', { claims: { iss: 'x' } }) }))).toBe(
      '403 invalid issuer (iss) claim',
    )
    await at.config({ verification: 'keys', issuer: 'https://other.example' })
    expect(told(await at.login())).toBe(denied)
    expect(await at.lastFailure()).toMatchObject({ reason: 'keys_unavailable' })
  })

  test('are fetched where the cluster announces them at its own address', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys({ kubernetes_host: `${cluster.url}/base` })
    cluster.requests.length = 0

    expect(told(await at.login())).toBe('200 ok')

    expect(cluster.requests.slice(0, 2).map(({ path }) => path)).toEqual([
      '/base/.well-known/openid-configuration',
      '/openid/v1/jwks',
    ])
  })

  test('may have keys of its own, and then fetches none', async () => {
    const { cluster } = await pods()
    const at = await mountByKeys({ pem_keys: [cluster.publicKeyPem()] })
    cluster.requests.length = 0

    expect(told(await at.login())).toBe('200 ok')

    expect(cluster.requests).toEqual([])
  })
})
