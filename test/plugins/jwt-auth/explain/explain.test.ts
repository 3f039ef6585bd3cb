import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors } from '../../../support/error-bodies.ts'
import { testOfOneServer } from '../../../support/of-one-server.ts'
import { checksOf } from './checks.ts'
import { type LoginFixture, openLoginFixture } from './fixture.ts'

describe('explain', () => {
  let fixture: LoginFixture
  beforeAll(async () => {
    fixture = await openLoginFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  test('an allowed login shows every check in order, and what it would grant', async () => {
    const mount = await fixture.mount({
      config: { oidc_discovery_url: fixture.issuer.url },
      role: {
        groups_claim: 'groups',
        claim_mappings: { ref: 'branch' },
        bound_claims: { repository: 'acme/shop', ref: 'refs/heads/main' },
      },
    })

    const { status, body } = await fixture.explain(mount, { jwt: await fixture.sign({ groups: ['a', 'b'] }) })

    const { data } = body
    expect(status).toBe(200)
    expect(data).toMatchObject({
      allowed: true,
      status: 200,
      error: '',
      reason: '',
      role: 'ci',
      clock: { source: fixture.issuer.url },
    })
    const checks = checksOf(data)
    expect(checks.map(({ name }) => name)).toEqual([
      ...[
        'config',
        'role',
        'token',
        'address',
        'signature',
        'algorithm',
        'claims',
        'issuer',
        'subject',
        'audience',
        'times',
      ],
      ...[
        'user_claim',
        'provider',
        'metadata',
        'groups',
        'bound_claims',
        'bound_claims',
        'entity',
        'policies',
      ],
    ])
    expect(checks.every(({ verdict }) => verdict === 'pass')).toBe(true)
    const signature = checks.find(({ name }) => name === 'signature')
    expect(signature?.expected).toContain(signature?.seen)
    expect(checks.filter(({ name }) => name === 'bound_claims')).toMatchObject([
      { detail: 'repository', expected: ['acme/shop'], seen: 'acme/shop', reason: '', hint: '' },
      { detail: 'ref', expected: ['refs/heads/main'], seen: 'refs/heads/main' },
    ])
    expect(data?.['login']).toMatchObject({
      display_name: `${mount}-repo:acme/shop`,
      alias: { name: 'repo:acme/shop', metadata: { role: 'ci', branch: 'refs/heads/main' }, entity_id: '' },
      groups: { claimed: ['a', 'b'], matched: [] },
      policies: ['default', 'deploy'],
      token_type: 'service',
      lease_duration: 900,
    })
  })

  test('matching groups are named', async () => {
    const mount = await fixture.mount({ role: { groups_claim: 'groups' } })
    const accessor = (await fixture.root.read('sys/auth')).body['data']?.[`${mount}/`]?.['accessor']
    const group = await fixture.root.write('identity/group', {
      name: 'ops',
      type: 'external',
      policies: ['ops'],
    })
    const id = group.body['data']?.['id']
    await fixture.root.write('identity/group-alias', {
      name: 'a',
      mount_accessor: accessor,
      canonical_id: id,
    })

    const { body } = await fixture.explain(mount, { jwt: await fixture.sign({ groups: ['a', 'b'] }) })

    expect(body['data']?.['login']).toMatchObject({
      groups: { claimed: ['a', 'b'], matched: [{ id, name: 'ops' }] },
      identity_policies: ['ops'],
      policies: ['default', 'deploy', 'ops'],
    })
  })

  test('explain writes nothing: no entity, no token, no use of a token', async () => {
    const mount = await fixture.mount()
    const counts = async () => {
      const entities = await fixture.root.list('identity/entity/id')
      const accessors = await fixture.root.list('auth/token/accessors')
      return [entities.body['data']?.['keys'], accessors.body['data']?.['keys']]
    }
    const before = await counts()

    for (let time = 0; time < 3; time++)
      await fixture.explain(mount, { jwt: await fixture.sign({ sub: 'nobody-yet' }) })

    expect(await counts()).toEqual(before)
  })

  test('after a bad signature the claims are still checked', async () => {
    const mount = await fixture.mount({
      config: { jwt_validation_pubkeys: [fixture.issuer.publicKeyPem('ES256')] },
    })

    const { body } = await fixture.explain(mount, { jwt: await fixture.sign({ aud: 'GATEHOUSE' }) })

    const verdicts = checksOf(body['data'])
      .filter(({ verdict }) => verdict === 'fail')
      .map(({ name }) => name)
    expect(verdicts).toEqual(['signature', 'audience'])
    expect(body['data']).toMatchObject({ allowed: false, reason: 'signature_invalid', login: null })
  })

  test('with claims there is no signature check, and no provider is asked', async () => {
    const provider = { provider: 'azure' }
    const mount = await fixture.mount({
      config: { provider_config: provider },
      role: { groups_claim: 'groups' },
    })
    const elsewhere = {
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: `${fixture.issuer.url}/groups` } },
    }
    const asked = fixture.issuer.requestsByPath.get('/groups')

    const { body } = await fixture.explain(mount, {
      claims: fixture.claims(elsewhere),
      distributed_claim_access_token: 'precious',
    })

    const skipped = checksOf(body['data'])
      .filter(({ verdict }) => verdict === 'skipped')
      .map(({ name }) => name)
    expect(skipped).toEqual(['token', 'signature', 'algorithm', 'groups', 'entity', 'policies'])
    expect(fixture.issuer.requestsByPath.get('/groups')).toBe(asked)
  })

  test('another client address can be tried', async () => {
    const mount = await fixture.mount({ role: { token_bound_cidrs: ['10.0.0.0/8'] } })
    const jwt = await fixture.sign()

    expect((await fixture.explain(mount, { jwt, remote_address: '10.1.2.3' })).body['data']).toMatchObject({
      allowed: true,
    })
    expect((await fixture.explain(mount, { jwt })).body['data']).toMatchObject({
      status: 403,
      error: 'permission denied',
    })
  })

  test.each([{ fields: {} }, { fields: { jwt: 'x', claims: {} } }, { fields: { jwt: null, claims: null } }])(
    'exactly one of jwt and claims is required: $fields',
    async ({ fields }) => {
      const mount = await fixture.mount()

      const answer = await fixture.explain(mount, fields)

      expect(answer).toMatchObject({
        status: 400,
        body: errors("exactly one of 'jwt' and 'claims' must be set"),
      })
    },
  )

  test('long values are truncated, and neither token nor signature is repeated', async () => {
    const mount = await fixture.mount({ role: { bound_claims: { long: 'x' } } })
    const jwt = await fixture.sign({ long: 'y'.repeat(5000) })

    const { text, body } = await fixture.explain(mount, { jwt })

    const [bound] = checksOf(body['data']).filter(({ name }) => name === 'bound_claims')
    expect(String(bound?.seen)).toHaveLength(256)
    for (const part of jwt.split('.')) expect(text).not.toContain(part)
  })

  // each server keeps the logins that it refused
  testOfOneServer(
    'a rule that also covers roles and the configuration explains none that a narrower rule closes',
    async () => {
      const mount = await fixture.mount()
      await fixture.root.write(`auth/${mount}/role/prod`, {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_subject: 'hidden',
        token_policies: 'absent',
      })
      const refusal = await fixture.login(mount, { role: 'prod', jwt: await fixture.sign({}) })
      const open = { [`auth/${mount}/*`]: ['create', 'read', 'update'] }
      const clientWith = async (name: string, rules: Readonly<Record<string, readonly string[]>>) => {
        const policy = Object.entries(rules)
          .map(([path, capabilities]) => `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`)
          .join('\n')
        await fixture.root.write(`sys/policies/acl/${name}`, { policy })
        const token = await fixture.root.write('auth/token/create', { policies: [name] })
        return fixture.server.as(String(token.body['auth']?.['client_token']))
      }
      const [noRole, noConfig] = [
        await clientWith('no-role', { ...open, [`auth/${mount}/role/prod`]: ['deny'] }),
        await clientWith('no-config', { ...open, [`auth/${mount}/config`]: ['deny'] }),
      ]

      const explain = `auth/${mount}/explain`
      const request_id = String(refusal.body['request_id'])
      const refused = await Promise.all([
        noRole.write(explain, { role: 'Prod', claims: {} }),
        noRole.write(explain, { request_id }),
        noRole.read(`${explain}?request_id=${request_id}`),
        noRole.read(`auth/${mount}/lint?role=prod`),
        noConfig.write(explain, { role: 'ci', claims: {} }),
        ...['status', 'failures'].map((path) => noConfig.read(`auth/${mount}/${path}`)),
      ])
      expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403))
      for (const path of ['lint', 'failures']) {
        const [all, some] = await Promise.all(
          [fixture.root, noRole].map((client) => client.read(`auth/${mount}/${path}`)),
        )
        expect([all?.text.includes('prod'), some?.text.includes('prod')]).toEqual([true, false])
      }
      expect((await noRole.write(explain, { role: 'ci', claims: {} })).status).toBe(200)
    },
  )

  test('explain requires update on its path', async () => {
    const mount = await fixture.mount()
    await fixture.root.write('sys/policies/acl/reads', {
      policy: `path "auth/${mount}/*" { capabilities = ["read"] }`,
    })
    const token = await fixture.root.write('auth/token/create', { policies: ['reads'] })
    const reader = fixture.server.as(String(token.body['auth']?.['client_token']))

    expect((await reader.write(`auth/${mount}/explain`, { jwt: 'x' })).status).toBe(403)
    expect((await reader.read(`auth/${mount}/status`)).status).toBe(200)
    for (const path of ['explain', 'failures', 'failures/hash', 'status', 'lint']) {
      expect((await fixture.server.anonymous.write(`auth/${mount}/${path}`, {})).status).toBe(403)
    }
  })
})
