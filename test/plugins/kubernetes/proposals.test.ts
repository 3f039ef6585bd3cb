import { describe, expect, test } from 'vitest'
import type { Answer } from '../../support/client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { names, namespaces, type PodMount, selector, startPods } from './pods.ts'

const pods = shared(() => startPods())

const explained = async (at: PodMount, refused: Answer) =>
  (await at.root.read(`${at.path}/explain?request_id=${refused.body['request_id']}`)).body.data

const verdicts = (data: Awaited<ReturnType<typeof explained>>, of: 'checks' | 'now_checks') =>
  Object.fromEntries(
    ((data?.[of] ?? []) as unknown as { name: string; verdict: string }[]).map((one) => [
      one.name,
      one.verdict,
    ]),
  )

describe('a refused login of a pod', () => {
  testOfOneServer(
    'comes with everything that is wrong, a change that nobody vouches for, and what is not judged',
    async () => {
      const { cluster, mount } = await pods()
      const at = await mount()
      const jwt = await cluster.token('prod', 'job')
      const refused = await at.login({ jwt })

      const before = await explained(at, refused)
      const fields = { [names]: ['web', 'job'], [namespaces]: ['dev', 'prod'] }
      await at.role('r', fields)
      const after = await explained(at, refused)

      expect(before?.['proposals']).toEqual([{ path: 'role/r', fields, unverified: true }])
      expect(verdicts(before, 'checks')).toMatchObject({
        audience: 'pass',
        service_account_name: 'fail',
        namespace: 'fail',
        review: 'skipped',
      })
      expect(before?.['now']).toBe('refused')
      expect(after).toMatchObject({ now: 'unknown', proposals: [] })
      expect(verdicts(after, 'now_checks')).toMatchObject({
        address: 'pass',
        audience: 'pass',
        service_account_name: 'pass',
        namespace: 'pass',
        review: 'unknown',
      })
    },
  )

  testOfOneServer('is judged to its end where a key verified the token', async () => {
    const { cluster, mount } = await pods()
    const at = await mount({ verification: 'keys', issuer: cluster.issuer })
    const refused = await at.login({ jwt: await cluster.token('dev', 'job') })
    const before = await explained(at, refused)
    await at.role('r', { [names]: ['web', 'job'] })
    const after = await explained(at, refused)

    expect(before?.['proposals']).toEqual([{ path: 'role/r', fields: { [names]: ['web', 'job'] } }])
    expect([before?.['now'], after?.['now']]).toEqual(['refused', 'allowed'])
    expect((await at.login({ jwt: await cluster.token('dev', 'job') })).status).toBe(200)
  })

  testOfOneServer('of a token that no key has signed has no proposal', async () => {
    const { cluster, mount } = await pods()
    const at = await mount({ verification: 'keys', issuer: cluster.issuer })
    const [header, payload] = (await cluster.token('dev', 'job')).split('.')

    const before = await explained(at, await at.login({ jwt: `${header}.${payload}.AAAA` }))

    expect(before).toMatchObject({ reason: 'signature_invalid', proposals: [] })
  })
})

describe('a proposal', () => {
  test.each([
    ['an audience in capitals', { audience: 'Gatehouse' }, { aud: ['gatehouse'] }, { audience: 'gatehouse' }],
    ['the audience of the API server', { audience: 'gatehouse' }, {}, undefined],
  ])('for %s', async (_name, role, claims, fields) => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('r', role)
    const jwt = await cluster.token('dev', 'web', { claims })

    const { body } = await at.root.write(`${at.path}/explain`, { role: 'r', jwt })

    expect(body.data?.['proposals']).toEqual(
      fields === undefined ? [] : [{ path: 'role/r', fields, unverified: true }],
    )
  })

  test('for a namespace that the cluster vouches for keeps the selector', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    const labels = '{"matchLabels": {"team": "nobody"}}'
    await at.role('r', { [selector]: labels })

    const jwt = await cluster.token('prod', 'web')
    const { body } = await at.root.write(`${at.path}/explain`, { role: 'r', jwt })
    const fields = { [selector]: labels, [namespaces]: ['dev', 'prod'] }
    const tried = await at.root.write(`${at.path}/explain`, { role: 'r', jwt, role_fields: fields })

    expect(body.data).toMatchObject({ reason: 'namespace_labels_refused', proposals: [{ fields }] })
    expect(body.data?.['proposals']).toEqual([{ path: 'role/r', fields }])
    expect(tried.body.data).toMatchObject({ allowed: true, proposals: [] })
  })
})

test('of very many refusals in a row, only the refusing check is made', async () => {
  const clock = new FakeClock(Date.now())
  await using own = await startPods({ clock })
  const at = await own.mount()
  const jwt = await own.cluster.token('prod', 'job')
  const lastCheck = async () => verdicts(await explained(at, await at.login({ jwt })), 'checks')['namespace']
  expect(await lastCheck()).toBe('fail')
  for (let time = 0; time < 200; time += 1) await at.login({ jwt })

  expect(await lastCheck()).toBe('skipped')
  clock.advance(1)
  expect(await lastCheck()).toBe('fail')
})

test('an unsaved role is tried with a token, is refused like a write of it, and needs update of the role', async () => {
  const { cluster, mount, server } = await pods()
  const at = await mount()
  const jwt = await cluster.token('prod', 'job')
  const policy = `path "${at.path}/*" { capabilities = ["read", "update"] }
    path "${at.path}/role/r" { capabilities = ["read"] }`
  await server.root.write('sys/policies/acl/pod-reader', { policy })
  const made = await server.root.write('auth/token/create', { policies: ['pod-reader'] })
  const reader = server.as(String(made.body.auth?.['client_token']))
  const role_fields = { [names]: 'job', [namespaces]: 'prod', audience: cluster.issuer }
  const explain = `${at.path}/explain`

  const fresh = await at.root.write(explain, { role: 'new', jwt, role_fields })
  const odd = await at.root.write(explain, { role: 'new', jwt, role_fields: { [names]: '*, job' } })
  const denied = await reader.write(explain, { role: 'r', jwt, role_fields })
  const allowed = await reader.write(explain, { role: 'r', jwt })
  await server.root.write('sys/policies/acl/pod-explainer', {
    policy: `path "${explain}" { capabilities = ["update"] }`,
  })
  const explainer = await server.root.write('auth/token/create', { policies: ['pod-explainer'] })
  const ofExplainer = server.as(String(explainer.body.auth?.['client_token']))
  const unwritable = await ofExplainer.write(explain, { role: 'new', jwt, role_fields })

  expect(fresh.body.data).toMatchObject({ allowed: true, role: 'new' })
  expect(odd.status).toBe(400)
  expect([denied.status, allowed.status, unwritable.status]).toEqual([403, 200, 403])
  expect((await at.root.read(`${at.path}/role/new`)).status).toBe(404)
})
