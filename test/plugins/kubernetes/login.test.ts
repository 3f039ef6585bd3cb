import { describe, expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { names, namespaces, startPods, told } from './pods.ts'

const pods = shared(() => startPods({ settings: { TRUSTED_PROXIES: '127.0.0.1' } }))
const mount = async (config?: object) => (await pods()).mount(config)
const cluster = async () => (await pods()).cluster
const denied = '403 permission denied'

describe('a login', () => {
  test('gives a token of the role to the account that the cluster confirms', async () => {
    const at = await mount()
    await at.role('R', { token_policies: 'b,a', token_ttl: 600 })
    const { objects, token } = await cluster()
    const uid = objects.account('dev', 'web')?.uid

    const { body } = await at.login({ role: 'R', jwt: `${await token()}\n` })

    expect(body.auth).toMatchObject({
      metadata: {
        role: 'r',
        service_account_name: 'web',
        service_account_namespace: 'dev',
        service_account_secret_name: '',
        service_account_uid: uid,
      },
      policies: ['a', 'b', 'default'],
      lease_duration: 600,
      renewable: true,
      token_type: 'service',
      orphan: true,
    })
    const { server } = await pods()
    const looked = await server.as(String(body.auth?.['client_token'])).read('auth/token/lookup-self')
    expect(looked.body.data).toMatchObject({
      display_name: `${at.path.replace('auth/', '')}-dev-web`,
      path: `${at.path}/login`,
    })
    const entity = await server.root.read(`identity/entity/id/${String(body.auth?.['entity_id'])}`)
    const { role: _, ...metadata } = Object(body.auth?.['metadata'])
    expect(entity.body.data?.['aliases']).toEqual([
      expect.objectContaining({ name: uid, mount_type: 'kubernetes', metadata }),
    ])
  })

  test('may ask for less than its role gives, and explain says so', async () => {
    const at = await mount()
    const { server } = await pods()
    const { token } = await cluster()
    const rule = (path: string) => `path "${path}" { capabilities = ["read", "create", "update", "delete"] }`
    for (const name of ['one', 'other'])
      await at.root.write(`sys/policies/acl/${name}`, { policy: rule(`cubbyhole/${name}/*`) })
    await at.role('r', { token_policies: 'one,other', token_ttl: 600 })
    const scope = { scope_policies: ['default', 'one'], scope_paths: ['cubbyhole/one/a'], scope_ttl: 60 }
    const send = async (path: string, more: object) =>
      server.root.write(`${at.path}/${path}`, { role: 'r', jwt: await token(), ...more })

    const { body } = await send('login', scope)
    const tooMuch = await send('login', { scope_policies: ['root'] })

    const { scope_ttl, ...shown } = scope
    expect(body.auth).toMatchObject({ ...shown, lease_duration: scope_ttl })
    const holder = server.as(String(body.auth?.client_token))
    const write = async (path: string) => (await holder.write(path, { a: 'b' })).status
    expect([await write('cubbyhole/one/a'), await write('cubbyhole/one/b')]).toEqual([204, 403])
    expect(await write('cubbyhole/other/a')).toBe(403)
    const child = await holder.write('auth/token/create', { policies: ['other'] })
    expect(child.status).toBe(403)
    expect(told(tooMuch)).toBe('400 scope_policies: the login does not give "root"')
    expect(await at.lastFailure()).toMatchObject({ reason: 'scope_refused' })
    expect((await send('explain', scope)).body.data).toMatchObject({ allowed: true, login: shown })
    expect((await send('explain', { scope_policies: ['root'] })).body.data).toMatchObject({
      allowed: false,
      reason: 'scope_refused',
    })
  })

  test('asks with the token of the reviewer for the audience of the role, once for each login', async () => {
    const at = await mount()
    const { requests, token, reviewer, issuer } = await cluster()
    const jwt = await token()
    requests.length = 0

    await at.login({ jwt })
    await at.login({ jwt })

    const review = {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      bearer: reviewer,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        metadata: {},
        spec: { token: jwt, audiences: [issuer] },
        status: { user: {} },
      },
    }
    expect(requests).toEqual([review, review])
  })

  test('asks with the token of the caller if there is no reviewer', async () => {
    const at = await mount({ token_reviewer_jwt: '' })
    const { token, objects } = await cluster()
    const jwt = await token()

    expect(told(await at.login({ jwt }))).toBe(denied)
    expect(await at.lastFailure()).toMatchObject({ reason: 'review_forbidden' })
    objects.rights.set(jwt, new Set(['review']))
    expect(told(await at.login({ jwt }))).toBe('200 ok')
  })

  test('says what is missing, in this order', async () => {
    const at = await mount()
    const { server } = await pods()
    const login = (body: object) => server.anonymous.write(`${at.path}/login`, body)

    expect(told(await login({}))).toBe('400 missing role')
    expect(told(await login({ jwt: 'x' }))).toBe('400 missing role')
    expect(told(await login({ role: 'r' }))).toBe('400 missing jwt')
    expect(told(await login({ role: 'no' }))).toBe('400 missing jwt')
    expect(told(await login({ role: 'No', jwt: 'x' }))).toBe('400 invalid role name "No"')
    expect(told(await login({ role: ['r'], jwt: 'x' }))).toMatch(
      /^400 Field validation failed: error converting input for field "role": /,
    )
  })

  test('needs a configuration', async () => {
    const { server, cluster: here } = await pods()
    await server.root.write('sys/auth/bare', { type: 'kubernetes' })
    await server.root.write('auth/bare/role/r', { [names]: 'web', [namespaces]: 'dev' })

    const answer = await server.anonymous.write('auth/bare/login', { role: 'r', jwt: await here.token() })

    expect(told(answer)).toBe('400 could not load backend configuration')
  })

  test('is refused before the cluster is asked if the claims do not fit the role', async () => {
    const at = await mount()
    const { requests, token, objects } = await cluster()
    objects.createAccount('other', 'web')
    await at.role('outside', { token_bound_cidrs: '10.0.0.0/8' })
    const now = Math.floor(Date.now() / 1000)
    requests.length = 0

    const seen: string[] = []
    for (const jwt of [
      'abc',
      ` ${await token()}`,
      `\u0085${await token()}`,
      await token('dev', 'web', { algorithm: 'PS256' }),
      await token('dev', 'web', { algorithm: 'EdDSA' }),
      await token('dev', 'web', { audiences: ['other'] }),
      await token('dev', 'web', { claims: { aud: undefined } }),
      await token('dev', 'web', { claims: { nbf: now + 65 } }),
      await token('dev', 'web', { claims: { exp: now - 65 } }),
      await token('dev', 'web', { claims: { iat: now + 65 } }),
      await token('dev', 'job'),
      await token('other', 'web'),
      await token('dev', 'web', { uid: '' }),
      await token('dev', 'web', { claims: { iss: 5 } }),
      await token('dev', 'web', { claims: { 'kubernetes.io': 5 } }),
    ])
      seen.push(told(await at.login({ jwt })))
    seen.push(told(await at.login({ role: 'outside' })))

    const algorithm = '403 invalid algorithm (alg) header parameter: token signed with unexpected algorithm'
    const audience = '403 invalid audience (aud) claim: audience claim does not match any expected audience'
    expect(seen.slice(0, -2)).toEqual([
      denied,
      denied,
      denied,
      algorithm,
      algorithm,
      audience,
      audience,
      '403 invalid not before (nbf) claim: token not yet valid',
      '403 invalid expiration time (exp) claim: token is expired',
      '403 invalid issued at (iat) claim: token issued in the future',
      '403 service account name not authorized',
      '403 namespace not authorized',
      denied,
      '403 json: cannot unmarshal iss into a string',
    ])
    expect(seen.at(-2)).toMatch(/^400 decoding failed due to the following error\(s\):/)
    expect(seen.at(-1)).toBe(denied)
    expect(requests).toEqual([])
  })

  test('names that no cluster has are refused although a pattern allows them', async () => {
    const at = await mount()
    await at.role('all', { [names]: '*', [namespaces]: '*' })
    const { requests, token } = await cluster()
    requests.length = 0

    for (const namespace of [
      '../../x',
      'dev/serviceaccounts/web',
      'dev?x=1',
      'dev#x',
      'DEV',
      '',
      'x'.repeat(64),
    ])
      expect(told(await at.login({ role: 'all', jwt: await token(namespace, 'web', { uid: 'u' }) }))).toBe(
        '403 namespace not authorized',
      )
    for (const name of ['../x', 'a b', 'web/token', 'Web', '', `${'x'.repeat(254)}`])
      expect(told(await at.login({ role: 'all', jwt: await token('dev', name, { uid: 'u' }) }))).toBe(
        '403 service account name not authorized',
      )
    expect(requests).toEqual([])
  })

  test('with a token of a secret has neither times nor audience', async () => {
    const at = await mount()
    await at.role('old', { audience: '' })
    const { secretToken, requests, objects } = await cluster()
    const jwt = await secretToken()
    requests.length = 0

    expect(told(await at.login({ jwt }))).toMatch(/^403 invalid audience/)
    const { body } = await at.login({ role: 'old', jwt })

    expect(body.auth?.['metadata']).toMatchObject({ service_account_secret_name: 'web-token-x7k2p' })
    expect(requests.map(({ body: sent }) => Object(sent).spec)).toEqual([{ token: jwt }])
    objects.deleted.add(jwt)
    expect(told(await at.login({ role: 'old', jwt }))).toBe(denied)
  })

  test('by name gives the entity to an account that is made anew, by uid another entity', async () => {
    const at = await mount()
    await at.role('named', { alias_name_source: 'serviceaccount_name', [names]: 'job' })
    await at.role('uid', { [names]: 'job' })
    const { objects, token } = await cluster()
    const entity = async (role: string) =>
      (await at.login({ role, jwt: await token('dev', 'job') })).body.auth?.['entity_id']

    const before = [await entity('named'), await entity('uid')]
    objects.createAccount('dev', 'job')
    const after = [await entity('named'), await entity('uid')]

    expect(after[0]).toBe(before[0])
    expect(after[1]).not.toBe(before[1])
  })
})

test('a policy may name what the cluster says of the pod', async () => {
  const { server, cluster: here } = await pods()
  const at = await mount()
  await server.root.write('sys/policies/acl/of-namespace', {
    policy: 'path "cubbyhole/{{login.metadata.service_account_namespace}}" { capabilities = ["create"] }',
  })
  await at.role('r', {
    [namespaces]: ['dev', 'prod'],
    token_policies: 'of-namespace',
    token_no_default_policy: true,
  })
  const may = async (namespace: string, path: string) => {
    const { body } = await at.login({ jwt: await here.token(namespace, 'web') })
    return (await server.as(String(body.auth?.['client_token'])).write(`cubbyhole/${path}`, { a: 'b' }))
      .status
  }

  expect(await may('dev', 'dev')).toBe(204)
  expect(await may('dev', 'prod')).toBe(403)
  expect(await may('prod', 'prod')).toBe(204)
})

test('with token_strictly_bind_ip a token is bound to the address of the login', async () => {
  const { server } = await pods()
  const at = await mount()
  await at.role('r', { token_strictly_bind_ip: true })

  const { body } = await at.login()
  const found = await server.root.write('auth/token/lookup', { token: body.auth?.['client_token'] })

  expect(found.body.data).toMatchObject({ bound_cidrs: ['127.0.0.1'] })
  expect(told(await at.role('r', { token_bound_cidrs: '127.0.0.0/8' }))).toBe(
    "400 'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one",
  )
})

describe('pem_keys', () => {
  test('verify a token here before its claims are looked at', async () => {
    const { cluster: here } = await pods()
    const at = await mount({ pem_keys: [here.publicKeyPem()] })

    expect(told(await at.login())).toBe('200 ok')
    const [header, payload] = (await here.token('dev', 'web', { audiences: ['x'] })).split('.')
    expect(told(await at.login({ jwt: `${header}.${payload}.AAAA` }))).toBe(denied)
    expect(await at.lastFailure()).toMatchObject({ reason: 'signature_invalid' })
    expect(told(await at.login({ jwt: await here.token('dev', 'web', { algorithm: 'PS256' }) }))).toBe(denied)
  })
})

describe('the issuer', () => {
  test('counts if it is set and its validation is not disabled', async () => {
    const { cluster: here } = await pods()
    const at = await mount({ issuer: 'zzz' })
    expect(told(await at.login())).toBe('200 ok')

    await at.config({ issuer: 'zzz', disable_iss_validation: false })
    expect(told(await at.login({ jwt: await here.token('dev', 'web', { audiences: ['x'] }) }))).toBe(
      '403 invalid issuer (iss) claim',
    )
    await at.config({ issuer: here.issuer, disable_iss_validation: false })
    expect(told(await at.login())).toBe('200 ok')
    await at.config({ disable_iss_validation: false })
    expect(told(await at.login())).toBe('200 ok')
  })
})

test('a request may carry a login', async () => {
  const { server, cluster: here } = await pods()
  const at = await mount()
  await server.root.write('sys/policies/acl/own', {
    policy: 'path "auth/token/lookup-self" { capabilities = ["read"] }',
  })
  await at.role('r', { token_policies: 'own', token_type: 'batch' })
  const parameter = (key: string, value: string) => ({
    [`X-Vault-Inline-Auth-Parameter-${key}`]: Buffer.from(JSON.stringify({ key, value })).toString(
      'base64url',
    ),
  })
  const ask = async (jwt: string) =>
    server.anonymous.read('auth/token/lookup-self', {
      headers: {
        'X-Vault-Inline-Auth-Path': `${at.path}/login`,
        ...parameter('role', 'r'),
        ...parameter('jwt', jwt),
      },
    })

  expect((await ask(await here.token())).body.data).toMatchObject({ path: `${at.path}/login` })
  const refused = await ask(await here.token('dev', 'job'))

  expect(told(refused)).toMatch(/^403 /)
  expect(await at.lastFailure()).toMatchObject({ inline: true, reason: 'service_account_name_refused' })
})
