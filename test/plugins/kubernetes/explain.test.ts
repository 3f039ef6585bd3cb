import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startCluster } from '../../../simulators/cluster/cluster.ts'
import { lintCodes } from '../../../src/plugins/kubernetes/explain/lint.ts'
import type { Answer } from '../../support/client.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { names, namespaces, selector, startPods, told } from './pods.ts'

const pods = shared(() => startPods())

type Check = {
  name: string
  verdict: string
  expected: unknown[]
  seen: unknown
  reason: string
  detail: string
}
const checksOf = ({ body }: Answer) => (body.data?.['checks'] ?? []) as unknown as Check[]
const named = (answer: Answer, name: string) => checksOf(answer).find((check) => check.name === name)

describe('explain', () => {
  test('runs the checks of a login, with the cluster, and writes nothing', async () => {
    const { cluster, mount, server } = await pods()
    const at = await mount()
    const jwt = await cluster.token('prod', 'web')
    await at.role('r', { [namespaces]: 'prod' })
    cluster.requests.length = 0

    const answer = await at.root.write(`${at.path}/explain`, { role: 'r', jwt })

    expect(answer.body.data).toMatchObject({
      allowed: true,
      login: {
        display_name: `${at.path.replace('auth/', '')}-prod-web`,
        alias: { name: cluster.objects.account('prod', 'web')?.uid, entity_id: '' },
      },
    })
    expect(cluster.requests).toHaveLength(1)
    expect(named(answer, 'signature')).toMatchObject({ verdict: 'skipped', detail: 'checked by the cluster' })
    expect(checksOf(answer).map(({ name }) => name)).toEqual([
      ...['role', 'address', 'configuration', 'token', 'algorithm', 'signature', 'issuer', 'audience'],
      ...['expiry', 'not_before', 'issued_at', 'claims', 'service_account_name', 'namespace', 'uid'],
      ...['review', 'review_audience', 'review_identity', 'namespace_labels', 'annotations'],
    ])
    const aliases = await server.root.list('identity/entity-alias/id')
    expect(aliases.text).not.toContain(at.path)
  })

  test('shows all refusals of a token at once, and does not ask the cluster about it', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    const jwt = await cluster.token('other', 'Web', { audiences: ['x'] })
    cluster.requests.length = 0

    const answer = await at.root.write(`${at.path}/explain`, { role: 'r', jwt })

    expect(checksOf(answer).flatMap(({ name, verdict }) => (verdict === 'fail' ? [name] : []))).toEqual([
      'audience',
      'service_account_name',
      'namespace',
      'uid',
    ])
    expect(named(answer, 'audience')).toMatchObject({ expected: [cluster.issuer], seen: ['x'] })
    expect(cluster.requests).toEqual([])
  })

  test('shows the words of the cluster, and who asked for what', async () => {
    const { cluster, mount } = await pods()
    const at = await mount({ token_reviewer_jwt: 'nobody' })

    const answer = await at.root.write(`${at.path}/explain`, { role: 'r', jwt: await cluster.token() })

    expect(answer.body.data).toMatchObject({ allowed: false, status: 403, reason: 'review_unauthorized' })
    expect(named(answer, 'review')).toMatchObject({ verdict: 'fail', seen: '401: Unauthorized' })
  })

  test.each([
    [{}, 'default_audience'],
    [{ aud: ['GateHouse'] }, 'differs_in_case'],
    [{ aud: undefined, exp: undefined }, 'legacy_token'],
    [{ aud: ['x'] }, ''],
  ])('of a token with %j for another audience has the hint %s', async (claims, hint) => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('r', { audience: 'gatehouse' })

    const jwt = await cluster.token('dev', 'web', { claims })

    expect(named(await at.root.write(`${at.path}/explain`, { role: 'r', jwt }), 'audience')).toMatchObject({
      verdict: 'fail',
      hint,
    })
  })

  test('of a token that no published key has signed says that it is of another cluster', async () => {
    const { cluster, mount } = await pods()
    await using other = await startCluster()
    const at = await mount({ verification: 'keys', issuer: cluster.issuer })
    const explain = async (jwt: string) => at.root.write(`${at.path}/explain`, { role: 'r', jwt })

    expect(named(await explain(await other.token()), 'signature')).toMatchObject({
      verdict: 'fail',
      reason: 'key_unknown',
      hint: 'other_cluster',
    })
    const [header, payload] = (await cluster.token()).split('.')
    expect(named(await explain(`${header}.${payload}.AAAA`), 'signature')).toMatchObject({
      reason: 'signature_invalid',
      hint: '',
    })
  })

  test('of a token that has ended says that its file is old', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()

    const jwt = await cluster.token('dev', 'web', { lifetime: -100 })

    expect(named(await at.root.write(`${at.path}/explain`, { role: 'r', jwt }), 'expiry')).toMatchObject({
      reason: 'expired',
      hint: 'expired_in_file',
      detail: 'exp',
    })
  })

  test('takes claims instead of a token', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    const claims = {
      aud: [cluster.issuer],
      'kubernetes.io': { namespace: 'dev', serviceaccount: { name: 'job', uid: 'u' } },
    }

    const answer = await at.root.write(`${at.path}/explain`, { role: 'r', claims })

    expect(answer.body.data).toMatchObject({ allowed: false, reason: 'service_account_name_refused' })
    expect(named(answer, 'review')).toMatchObject({ verdict: 'skipped' })
    expect(named(answer, 'service_account_name')).toMatchObject({ expected: ['web'], seen: 'job' })
  })

  testOfOneServer('explains a refused login by its request id, and is a report for people', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    const refused = await at.login({ jwt: await cluster.token('dev', 'job') })
    const id = String(refused.body['request_id'])

    const explained = await at.root.read(`${at.path}/explain?request_id=${id}`)

    expect(explained.body.data).toMatchObject({
      path: 'login',
      reason: 'service_account_name_refused',
      role: 'r',
    })
    expect(String(explained.body.data?.['report'])).toContain('FAIL  service_account_name')
  })

  testOfOneServer('explains refused renewals by the ids that failures show', async () => {
    const { cluster, mount, server } = await pods()
    const at = await mount()
    const jwt = await cluster.token()
    const { body } = await at.login({ jwt })
    cluster.objects.deleted.add(jwt)
    for (let renewal = 0; renewal < 2; renewal++)
      await server.as(String(body.auth?.['client_token'])).write('auth/token/renew-self', {})

    const { failures } = (await at.root.read(`${at.path}/failures`)).body.data ?? {}
    const ids = Object.values(failures ?? {}).map((failure) => Object(failure)['request_id'])
    const explained = await at.root.read(`${at.path}/explain?request_id=${ids[0]}`)

    expect(new Set(ids).size).toBe(2)
    expect(explained.body.data).toMatchObject({ path: 'renew', reason: 'review_refused', role: 'r' })
  })

  test('needs the right to read role and configuration', async () => {
    const { cluster, mount, server } = await pods()
    const at = await mount()
    await server.root.write('sys/policies/acl/explainer', {
      policy: `path "${at.path}/*" { capabilities = ["update"] }`,
    })
    const { body } = await server.root.write('auth/token/create', { policies: ['explainer'] })
    const made = server.as(String(body.auth?.['client_token']))

    expect(told(await made.write(`${at.path}/explain`, { role: 'r', jwt: await cluster.token() }))).toBe(
      '403 permission denied',
    )
  })
})

describe('failures', () => {
  test('show an unknown role as a hash, and claims likewise', async () => {
    const { mount, cluster } = await pods()
    const at = await mount()
    await at.login({ role: 'passw0rd', jwt: await cluster.token() })

    const failure = await at.lastFailure()

    expect(failure).toMatchObject({ reason: 'role_unknown', status: 400 })
    expect(JSON.stringify(failure)).not.toContain('passw0rd')
    const { body } = await at.root.write(`${at.path}/failures/hash`, { input: cluster.issuer })
    expect(failure['claims']).toMatchObject({ iss: body.data?.['hash'] })
  })

  test('show who may explain them the account of the token', async () => {
    const { mount, cluster } = await pods()
    const at = await mount()
    await at.role('r', { audience: 'gatehouse' })
    await at.login({ jwt: await cluster.token('dev', 'web') })

    expect(await at.lastFailure()).toMatchObject({
      subject: 'system:serviceaccount:dev:web',
      looked_at: { '/kubernetes.io/namespace': 'dev', '/kubernetes.io/serviceaccount/name': 'web' },
    })
  })
})

describe('status', () => {
  testOfOneServer(
    'shows how the last review ended, and asks for one of the reviewer if told to',
    async () => {
      const { cluster, mount } = await pods()
      const at = await mount()
      const status = async (query = '') => (await at.root.read(`${at.path}/status${query}`)).body.data

      expect(await status()).toMatchObject({
        ok: true,
        reviewer: 'configured',
        ca: 'configured',
        last_review: null,
      })
      await at.login()
      expect(await status()).toMatchObject({ last_review: { ok: true, reason: '' } })
      await at.config({ token_reviewer_jwt: 'nobody' })
      expect(await status('?refresh=true')).toMatchObject({
        ok: false,
        last_review: { ok: false, reason: 'review_unauthorized' },
      })
      await at.config({ token_reviewer_jwt: cluster.reviewer })
      expect(await status('?refresh=true')).toMatchObject({ ok: true })
      await at.config({ verification: 'keys', issuer: cluster.issuer })
      expect(await status('?refresh=true')).toMatchObject({
        ok: true,
        keys: cluster.keys.published().map(({ kid }) => kid),
      })
    },
  )
})

test('status names the rights that the reviewer lacks, of those that logins need', async () => {
  const { cluster, mount } = await pods()
  const at = await mount({ token_reviewer_jwt: 'no-rights' })
  const asked = async () => (await at.root.read(`${at.path}/status?refresh=true`)).body.data
  cluster.objects.rights.set('no-rights', new Set())
  const [reviews, labels] = ['reviewer may not create tokenreviews', 'reviewer may not get namespaces']

  expect(await asked()).toMatchObject({ ok: false, problems: [reviews] })
  await at.role('labels', { [namespaces]: [], [selector]: '{"matchLabels":{"team":"a"}}' })
  expect(await asked()).toMatchObject({ ok: false, problems: [reviews, labels] })
  await at.config({ token_reviewer_jwt: 'no-rights', verification: 'keys', issuer: cluster.issuer })
  expect(await asked()).toMatchObject({ ok: false, problems: [labels] })
  await at.config()
  expect(await asked()).toMatchObject({ ok: true, problems: [] })
  await at.config({ token_reviewer_jwt: `Bearer ${cluster.reviewer}` })
  expect((await at.root.read(`${at.path}/status`)).body.data).toMatchObject({
    ok: false,
    problems: ['token_reviewer_jwt begins with "Bearer": write the token alone'],
  })
})

test('with role_lint, a write of a role warns of what is probably not intended', async () => {
  const { mount } = await pods()
  const at = await mount()
  await at.root.write(`sys/${at.path}/tune`, { options: { role_lint: 'write' } })

  const { status, body } = await at.role('r', { audience: '' })

  expect(status).toBe(200)
  expect(body['warnings']).toEqual([expect.stringMatching(/^no_audience: /)])
})

describe('lint', () => {
  const findings = async (role: object, config: object = {}) => {
    const at = await (await pods()).mount(config)
    await at.role('r', role)
    const { body } = await at.root.read(`${at.path}/lint`)
    const found = (body.data?.['findings'] ?? []) as unknown as { code: string }[]
    return found.map(({ code }) => code)
  }

  test.each([
    [{}, {}, []],
    [{ audience: '' }, {}, ['no_audience']],
    [{ [names]: '*', [namespaces]: '*' }, {}, ['all_names_in_all_namespaces', 'unbounded_alias']],
    [{ [names]: '**', [namespaces]: '**' }, {}, ['all_names_in_all_namespaces', 'unbounded_alias']],
    [{ [names]: '*-web' }, {}, ['wildcard_names']],
    [{ [namespaces]: '*-prod' }, {}, ['wildcard_namespaces']],
    [{ [selector]: '{"matchLabels":{"a":"b"}}' }, {}, ['selector_decides']],
    [{ alias_name_source: 'serviceaccount_name' }, {}, ['name_alias']],
    [{ renewal_review: false }, {}, ['renewal_unchecked']],
    [{ token_policies: 'not-there' }, {}, ['policy_missing']],
    [{ ttl: '1h' }, {}, ['no_effect']],
    [{}, { disable_iss_validation: false }, ['issuer_unchecked']],
    [{}, { verification: 'keys', issuer: 'i' }, ['verification_keys']],
    [{}, { kubernetes_host: 'http://k' }, ['insecure_host']],
    [{}, { use_annotations_as_alias_metadata: true }, ['annotations_decide']],
    [
      { [selector]: '{"matchLabels":{"a":"b"}}' },
      { token_reviewer_jwt: '' },
      ['reviewer_missing', 'selector_decides'],
    ],
    [
      { [selector]: '{"matchLabels":{"a":"b"}}' },
      { token_reviewer_jwt: '', disable_local_ca_jwt: false },
      ['reviewer_missing', 'selector_decides'],
    ],
  ])('of a role with %j at a mount with %j finds %j', async (role, config, expected) => {
    expect(await findings(role, config)).toEqual(expected)
  })

  test('a mount of batch tokens tells of roles whose uses or period they cannot have', async () => {
    const at = await (await pods()).mount()
    await at.role('r', { token_num_uses: 2 })
    await at.role('s', { token_period: '1h' })

    const tuned = await at.root.write(`sys/${at.path}/tune`, { token_type: 'batch' })

    expect(tuned.body['warnings']).toEqual([
      'logins are refused, because batch tokens cannot have token_num_uses or token_period: "r", "s"',
    ])
    expect((await at.root.read(`${at.path}/lint`)).body.data?.['findings']).toMatchObject([
      { role: 'r', code: 'uses_without_effect', field: 'token_num_uses' },
      { role: 's', code: 'uses_without_effect', field: 'token_period' },
    ])
  })

  test('has a row on the page for each code', async () => {
    const page = await readFile('docs/contract/kubernetes.md', 'utf8')

    expect(lintCodes.filter((code) => !page.includes(`\`${code}\``))).toEqual([])
  })
})
