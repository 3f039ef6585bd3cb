import { Buffer } from 'node:buffer'
import { request } from 'node:https'
import { expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../simulators/cluster/cluster.ts'

type Sent = { readonly method?: string; readonly bearer?: string; readonly body?: object }

/** What the API server of the stand-in answers. */
function ask(cluster: Cluster, path: string, { method = 'GET', bearer = '', body }: Sent = {}) {
  const headers = bearer === '' ? {} : { authorization: `Bearer ${bearer}` }
  return new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
    request(cluster.url + path, { method, headers, ca: cluster.caPem, agent: false }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) })
    })
      .on('error', reject)
      .end(body && JSON.stringify(body))
  })
}

const reviews = '/apis/authentication.k8s.io/v1/tokenreviews'
const reviewed = async (cluster: Cluster, token: string, audiences?: string[]) => {
  const body = { spec: { token, audiences } }
  return (await ask(cluster, reviews, { method: 'POST', bearer: cluster.reviewer, body })).body['status']
}

test('publishes the keys of its tokens to everybody', async () => {
  await using cluster = await startCluster()

  const discovered = await ask(cluster, '/.well-known/openid-configuration')
  const keys = await ask(cluster, '/openid/v1/jwks')

  expect(discovered.body).toMatchObject({ issuer: cluster.issuer, jwks_uri: `${cluster.url}/openid/v1/jwks` })
  expect(keys.body['keys']).toHaveLength(3)
})

test('reviews tokens for those who may', async () => {
  await using cluster = await startCluster()
  const token = await cluster.token()
  const review = (bearer: string) =>
    ask(cluster, reviews, { method: 'POST', bearer, body: { spec: { token } } })

  expect(await review('stranger')).toMatchObject({
    status: 401,
    body: { kind: 'Status', reason: 'Unauthorized' },
  })
  expect(await review(token)).toMatchObject({ status: 403, body: { kind: 'Status', reason: 'Forbidden' } })
  expect(await review(cluster.reviewer)).toMatchObject({
    status: 201,
    body: { status: { authenticated: true } },
  })
})

test('confirms the audiences that were asked for and that the token has', async () => {
  await using cluster = await startCluster()
  const token = await cluster.token('dev', 'web', { audiences: ['a', 'b'] })

  expect(await reviewed(cluster, token, ['b', 'c'])).toMatchObject({ authenticated: true, audiences: ['b'] })
  expect(await reviewed(cluster, token, ['c'])).not.toHaveProperty('authenticated')
  expect(await reviewed(cluster, token)).not.toHaveProperty('authenticated')
})

test('does not know the token of a pod, account or key that is gone, or one that has ended', async () => {
  await using cluster = await startCluster()
  const [kept, pod, ended] = [
    await cluster.token(),
    await cluster.token(),
    await cluster.token('dev', 'web', { lifetime: -1 }),
  ]
  cluster.objects.deleted.add(pod)
  const isKnown = async (token: string) => Object(await reviewed(cluster, token)).authenticated === true

  expect([await isKnown(kept), await isKnown(pod), await isKnown(ended)]).toEqual([true, false, false])
  cluster.objects.createAccount('dev', 'web')
  expect(await isKnown(kept)).toBe(false)
  const before = await cluster.token()
  await cluster.keys.rotate({ keepOld: false })
  expect([await isKnown(before), await isKnown(await cluster.token())]).toEqual([false, true])
})

test('issues tokens for an account, and shows namespaces and accounts', async () => {
  await using cluster = await startCluster()
  const bearer = cluster.reviewer
  const body = { spec: { audiences: ['gatehouse'], expirationSeconds: 600 } }
  const path = '/api/v1/namespaces/dev/serviceaccounts/web'

  const made = await ask(cluster, `${path}/token`, { method: 'POST', bearer, body })

  expect(made.status).toBe(201)
  const { token } = Object(made.body['status'])
  expect(await reviewed(cluster, token, ['gatehouse'])).toMatchObject({ authenticated: true })
  expect((await ask(cluster, '/api/v1/namespaces/dev', { bearer })).body['metadata']).toMatchObject({
    labels: { env: 'dev' },
  })
  expect((await ask(cluster, path, { bearer })).body['kind']).toBe('ServiceAccount')
  expect((await ask(cluster, '/api/v1/namespaces/no', { bearer })).status).toBe(404)
})
