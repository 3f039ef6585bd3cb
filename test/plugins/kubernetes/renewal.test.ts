import { describe, expect, test } from 'vitest'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { names, namespaces, type PodMount, startPods, told } from './pods.ts'

const pods = shared(() => startPods())
const gone =
  '403 failed to renew entry: failed to validate token and secret still exist for "web" during renewal: permission denied'

/** A token of a login, and how to renew it. */
async function loggedIn(at: PodMount, jwt?: string) {
  const { server } = await pods()
  const { body } = await at.login(jwt === undefined ? {} : { jwt })
  const token = String(body.auth?.['client_token'])
  return {
    accessor: String(body.auth?.['accessor']),
    renew: () => server.as(token).write('auth/token/renew-self', {}),
    lookup: () => server.as(token).read('auth/token/lookup-self'),
  }
}

describe('a renewal', () => {
  test('asks the cluster again about the token of the login', async () => {
    const { cluster, mount, server } = await pods()
    const at = await mount()
    await at.role('r', { token_ttl: '1h', token_policies: 'p' })
    const jwt = await cluster.token()
    const { renew, lookup, accessor } = await loggedIn(at, jwt)
    await at.role('r', { token_ttl: '30m', token_policies: 'q' })
    cluster.requests.length = 0

    const renewed = await renew()

    expect(renewed.body.auth).toMatchObject({ lease_duration: 1800, policies: ['default', 'p'] })
    expect(cluster.requests.map(({ body }) => Object(body).spec.token)).toEqual([jwt])
    cluster.objects.deleted.add(jwt)
    expect(told(await renew())).toBe(gone)
    expect(told(await server.root.write('auth/token/renew-accessor', { accessor }))).toBe(gone)
    expect(await at.lastFailure()).toMatchObject({ path: 'renew', reason: 'review_refused', role: 'r' })
    const looked = await lookup()
    expect(looked.status).toBe(200)
    expect(looked.text).not.toContain(jwt)
    cluster.objects.deleted.delete(jwt)
    expect(told(await renew())).toBe('200 ok')
  })

  test('is judged by role and configuration as they are now', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    const { renew } = await loggedIn(at)
    const seen: string[] = []
    const renewWith = async (role: object, config: object = {}) => {
      await at.role('r', role)
      await at.config(config)
      seen.push(told(await renew()))
    }

    await renewWith({ [names]: 'job' })
    await renewWith({ [namespaces]: 'prod' })
    await renewWith({ audience: 'zzz' })
    await renewWith({}, { issuer: 'zzz', disable_iss_validation: false })
    await renewWith(
      {},
      { pem_keys: [cluster.keys.current('ES256').publicKey.export({ type: 'spki', format: 'pem' })] },
    )
    await renewWith({ token_bound_cidrs: '10.0.0.0/8' })
    await at.root.delete(`${at.path}/role/r`)
    seen.push(told(await renew()))
    await renewWith({})

    expect(seen).toEqual([
      '403 failed to renew entry: service account name not authorized',
      '403 failed to renew entry: namespace not authorized',
      '403 failed to renew entry: invalid audience (aud) claim: audience claim does not match any expected audience',
      '403 failed to renew entry: invalid issuer (iss) claim',
      '403 failed to renew entry: error verifying token signature: no known key successfully validated the token signature',
      '200 ok',
      '400 failed to renew entry: role r does not exist during renewal',
      '200 ok',
    ])
  })

  test('is refused once the account is made anew or the token of the login has ended', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('r', { [names]: 'brief' })
    cluster.objects.createAccount('dev', 'brief')
    const first = await loggedIn(at, await cluster.token('dev', 'brief'))

    cluster.objects.createAccount('dev', 'brief')

    expect(told(await first.renew())).toBe(gone.replace('web', 'brief'))
  })

  testOfOneServer('does not wait for a cluster that was out of reach a moment ago', async () => {
    await using own = await startPods()
    const at = await own.mount()
    const { body } = await at.login()
    const renew = () => own.server.as(String(body.auth?.['client_token'])).write('auth/token/renew-self', {})
    await own.cluster.goDown()
    expect(told(await renew())).toBe(gone)
    await own.cluster.comeBack()
    own.cluster.requests.length = 0

    expect(told(await renew())).toBe(gone)
    expect(own.cluster.requests).toEqual([])
    expect(told(await at.login())).toBe('200 ok')
    expect(told(await renew())).toBe('200 ok')
  })

  test('waits for a cluster that only logins did not reach a moment ago', async () => {
    await using own = await startPods()
    const at = await own.mount()
    const { body } = await at.login()
    await own.cluster.goDown()
    expect(told(await at.login())).toBe('403 permission denied')
    await own.cluster.comeBack()

    const renewed = await own.server
      .as(String(body.auth?.['client_token']))
      .write('auth/token/renew-self', {})

    expect(told(renewed)).toBe('200 ok')
  })

  test('reads no annotations', async () => {
    const { cluster, mount } = await pods()
    const at = await mount({ use_annotations_as_alias_metadata: true })
    const { renew } = await loggedIn(at)
    cluster.requests.length = 0

    expect(told(await renew())).toBe('200 ok')
    expect(cluster.requests).toHaveLength(1)
  })

  test('asks nobody if the role says so', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('r', { renewal_review: false })
    const jwt = await cluster.token()
    const { renew } = await loggedIn(at, jwt)
    cluster.objects.deleted.add(jwt)

    expect(told(await renew())).toBe('200 ok')
    await at.role('r', { renewal_review: true })
    expect(told(await renew())).toBe(gone)
  })
})
