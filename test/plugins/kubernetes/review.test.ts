import { afterEach, describe, expect, test } from 'vitest'
import type { Answer, Asked } from '../../../simulators/cluster/api.ts'
import { startCluster } from '../../../simulators/cluster/cluster.ts'
import { shared } from '../../support/shared.ts'
import { startPods, told } from './pods.ts'

const pods = shared(() => startPods())
const denied = '403 permission denied'

afterEach(async () => {
  const { cluster } = await pods()
  cluster.behave()
  cluster.ignoreAudiences(false)
})

/** A review that says yes to the token that it is asked about, with a part changed. */
const saying =
  (status: object, { code = 201 } = {}) =>
  ({ body }: Asked): Answer => {
    const { token } = Object(body).spec
    const claims = JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
    const { namespace, serviceaccount } = claims['kubernetes.io']
    const user = {
      username: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      ...Object(status).user,
    }
    const yes = { authenticated: true, audiences: claims.aud, ...status, user }
    return {
      status: code,
      body: { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', status: yes },
    }
  }

const plain =
  (status: number, body: object = {}) =>
  (): Answer => ({ status, body })

describe('a review that says', () => {
  test.each([
    ['yes', saying({})],
    ['yes with 200', saying({}, { code: 200 })],
    ['yes with 206', saying({}, { code: 206 })],
    [
      'yes for further audiences',
      saying({ audiences: ['x', 'https://kubernetes.default.svc.cluster.local'] }),
    ],
  ])('%s lets in', async (_, answer) => {
    const { cluster, mount } = await pods()
    const at = await mount()
    cluster.misbehave({ kind: 'answer', answer })

    expect(told(await at.login())).toBe('200 ok')
  })

  test.each([
    ['no', saying({ authenticated: false }), 'review_refused'],
    ['nothing of it', saying({ authenticated: undefined }), 'review_refused'],
    ['yes with an error', saying({ error: 'no' }), 'review_refused'],
    ['no audience', saying({ audiences: undefined }), 'review_audience'],
    ['an empty list of audiences', saying({ audiences: [] }), 'review_audience'],
    ['other audiences', saying({ audiences: ['x'] }), 'review_audience'],
    ['another name', saying({ user: { username: 'system:serviceaccount:dev:job' } }), 'review_mismatch'],
    [
      'another namespace',
      saying({ user: { username: 'system:serviceaccount:prod:web' } }),
      'review_mismatch',
    ],
    ['a name of three parts', saying({ user: { username: 'system:serviceaccount:web' } }), 'review_mismatch'],
    ['a node', saying({ user: { username: 'system:node:a:b' } }), 'review_mismatch'],
    ['another uid', saying({ user: { uid: 'x' } }), 'review_mismatch'],
    ['no uid', saying({ user: { uid: '' } }), 'review_mismatch'],
    ['401', plain(401), 'review_unauthorized'],
    ['403', plain(403), 'review_forbidden'],
    ['404', plain(404), 'review_failed'],
    ['429', plain(429), 'review_failed'],
    ['500', plain(500, { kind: 'Status', message: 'out of order' }), 'review_failed'],
    ['503', plain(503), 'review_failed'],
    ['302', plain(302), 'review_failed'],
    ['nothing', plain(201), 'review_failed'],
    ['200 with a Status', plain(200, { kind: 'Status', status: 'Failure' }), 'review_failed'],
    ['a list', plain(201, []), 'review_failed'],
    ['an audience that is no text', saying({ audiences: [5] }), 'review_failed'],
  ])('%s keeps out, and only the operator learns why', async (_, answer, reason) => {
    const { cluster, mount } = await pods()
    const at = await mount()
    cluster.misbehave({ kind: 'answer', answer })

    expect(told(await at.login())).toBe(denied)
    expect(await at.lastFailure()).toMatchObject({ reason, status: 403, role: 'r', path: 'login' })
  })

  test.each([
    [{ kind: 'html' } as const, 'review_failed'],
    [{ kind: 'cut' } as const, 'review_unreachable'],
    [{ kind: 'huge', bytes: 2 ** 20, chunked: true } as const, 'review_unreachable'],
    [{ kind: 'redirect-to', url: 'https://127.0.0.1:1/' } as const, 'review_failed'],
  ])('$kind keeps out', async (trouble, reason) => {
    const { cluster, mount } = await pods()
    const at = await mount()
    cluster.misbehave(trouble)

    expect(told(await at.login())).toBe(denied)
    expect(await at.lastFailure()).toMatchObject({ reason })
  })
})

describe('a cluster', () => {
  test('of an old version, which does not look at audiences, opens only roles without one', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('any', { audience: '' })
    cluster.ignoreAudiences(true)

    expect(told(await at.login())).toBe(denied)
    expect(
      told(
        await at.login({
          role: 'any',
          jwt: await cluster.token('dev', 'web', { claims: { aud: undefined } }),
        }),
      ),
    ).toBe('200 ok')
  })

  test('out of reach, of another name or of another authority keeps out', async () => {
    const { cluster, mount } = await pods()
    const port = new URL(cluster.url).port
    const at = await mount({ kubernetes_host: 'https://127.0.0.1:1' })
    const seen = [told(await at.login())]
    await at.config({ kubernetes_host: `https://localhost:${port}` })
    seen.push(told(await at.login()))
    await at.config({ kubernetes_ca_cert: '' })
    seen.push(told(await at.login()))
    cluster.useOtherAuthority(true)
    await at.config()
    seen.push(told(await at.login()))
    cluster.useOtherAuthority(false)

    expect(seen).toEqual([denied, denied, denied, denied])
    expect(await at.lastFailure()).toMatchObject({
      reason: 'review_unreachable',
      cause: expect.stringContaining('certificate signed by unknown authority'),
    })
    expect(told(await at.login())).toBe('200 ok')
  })

  test.each([
    ['a slash at the end', (url: string) => `${url}//`],
    ['a base path', (url: string) => `${url}/base`],
    ['no scheme', (url: string) => url.replace('https://', '')],
    ['white space', (url: string) => ` ${url} `],
  ])('is found at an address with %s', async (_, spelled) => {
    const { cluster, mount } = await pods()
    const at = await mount({ kubernetes_host: spelled(cluster.url) })

    expect(told(await at.login())).toBe('200 ok')
  })

  test('without TLS is asked in clear', async () => {
    const { server } = await pods()
    await using plainCluster = await startCluster({ isPlain: true })
    await server.root.write('sys/auth/plain', { type: 'kubernetes' })
    await server.root.write('auth/plain/config', {
      kubernetes_host: plainCluster.url,
      disable_local_ca_jwt: true,
      token_reviewer_jwt: plainCluster.reviewer,
    })
    await server.root.write('auth/plain/role/r', {
      bound_service_account_names: 'web',
      bound_service_account_namespaces: 'dev',
    })

    const answer = await server.anonymous.write('auth/plain/login', {
      role: 'r',
      jwt: await plainCluster.token(),
    })

    expect(told(answer)).toBe('200 ok')
  })
})
