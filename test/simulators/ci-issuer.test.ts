import { request } from 'node:http'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { type Issuer, startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { algorithms } from '../../simulators/ci-issuer/signing-keys.ts'

type KeySet = { keys: { kid: string }[] }

const kidsOf = async (issuer: Issuer): Promise<string[]> => {
  // the issuer's own answer, whose shape the first test holds
  const body = (await (await fetch(issuer.jwksUrl)).json()) as KeySet
  return body.keys.map((key) => key.kid)
}

const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid

test.each(algorithms)('%s: discovery leads to the key that verifies the token', async (algorithm) => {
  await using issuer = await startIssuer()
  const jwt = await issuer.signPipeline('github', {}, { algorithm })

  const discovery: unknown = await (await fetch(issuer.discoveryUrl)).json()
  expect(discovery).toMatchObject({ issuer: issuer.url, jwks_uri: issuer.jwksUrl })
  const verified = await jwtVerify(jwt, createRemoteJWKSet(new URL(issuer.jwksUrl)), {
    issuer: issuer.url,
    algorithms: [algorithm],
  })

  expect(verified.protectedHeader.alg).toBe(algorithm)
  await expect(
    jwtVerify(jwt, await importSPKI(issuer.publicKeyPem(algorithm), algorithm)),
  ).resolves.toBeDefined()
})

test.each([
  {
    provider: 'github',
    claims: { repository: 'acme/web', environment: 'prod' },
    sub: 'repo:acme/web:environment:prod',
  },
  {
    provider: 'github',
    claims: { repository: 'acme/web', ref: 'refs/heads/dev' },
    sub: 'repo:acme/web:ref:refs/heads/dev',
  },
  {
    provider: 'gitlab',
    claims: { project_path: 'acme/web', ref: 'dev' },
    sub: 'project_path:acme/web:ref_type:branch:ref:dev',
  },
  { provider: 'gitlab', claims: { sub: 'given' }, sub: 'given' },
  {
    provider: 'kubernetes',
    claims: { 'kubernetes.io': { namespace: 'web' } },
    sub: 'system:serviceaccount:web:deployer',
  },
  { provider: 'keycloak', claims: { groups: ['a'] }, sub: 'f3b1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d' },
] as const)('$provider: the subject follows from $claims', async ({ provider, claims, sub }) => {
  await using issuer = await startIssuer({ algorithms: ['RS256'], now: () => 1_800_000_000_500 })

  const payload = decodeJwt(await issuer.signPipeline(provider, claims))

  expect(payload).toMatchObject({ ...claims, sub, iss: issuer.url, iat: 1_800_000_000 })
})

test('a claim set to undefined is left out, and any text can be the payload', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })

  const withoutExp = await issuer.signPipeline('gitlab', { exp: undefined }, { algorithm: 'ES256' })
  const twice = await issuer.sign('{"sub":"a","sub":"b"}', {
    algorithm: 'ES256',
    header: { kid: undefined, crit: ['x'], x: 1 },
  })

  expect(decodeJwt(withoutExp)).not.toHaveProperty('exp')
  expect(Buffer.from(twice.split('.')[1] ?? '', 'base64url').toString()).toBe('{"sub":"a","sub":"b"}')
  expect(decodeProtectedHeader(twice)).toEqual({ typ: 'JWT', alg: 'ES256', crit: ['x'], x: 1 })
})

test('rotation signs with a new key; the old one stays published until it is dropped', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const first = kidOf(await issuer.sign({}, { algorithm: 'ES256' }))

  await issuer.rotate()
  const second = kidOf(await issuer.sign({}, { algorithm: 'ES256' }))
  const published = await kidsOf(issuer)
  await issuer.rotate({ keepOld: false })

  expect(published).toEqual([second, first])
  expect(await kidsOf(issuer)).toEqual([kidOf(await issuer.sign({}, { algorithm: 'ES256' }))])
  expect(kidOf(await issuer.sign({}, { algorithm: 'ES256', previousKey: true }))).toBe(second)
})

test('requests are counted by path', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })

  await fetch(issuer.jwksUrl)
  await fetch(`${issuer.jwksUrl}?again`)

  expect(issuer.requestsByPath.get('/.well-known/jwks')).toBe(2)
  expect(issuer.requestsByPath.get('/.well-known/openid-configuration')).toBeUndefined()
})

test('misbehaviour keeps to its document and ends with behave', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })

  issuer.misbehave({ kind: 'status', status: 503 }, 'jwks')
  const during = [(await fetch(issuer.jwksUrl)).status, (await fetch(issuer.discoveryUrl)).status]
  issuer.behave()

  expect(during).toEqual([503, 200])
  expect((await fetch(issuer.jwksUrl)).status).toBe(200)
})

test('some misbehaviours end in a response', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  const read = async (url: string) => await (await fetch(url)).text()

  issuer.misbehave({ kind: 'html' })
  expect(await read(issuer.jwksUrl)).toMatch(/^<!doctype html>/)
  issuer.misbehave({ kind: 'broken-json' })
  const broken = await read(issuer.jwksUrl)
  expect(() => JSON.parse(broken)).toThrow(SyntaxError)
  issuer.misbehave({ kind: 'huge', bytes: 2_000_000 })
  expect((await read(issuer.jwksUrl)).length).toBeGreaterThan(2_000_000)
  issuer.misbehave({ kind: 'huge', bytes: 2_000_000, chunked: true })
  const chunked = await fetch(issuer.jwksUrl)
  expect(chunked.headers.get('content-length')).toBeNull()
  expect((await chunked.text()).length).toBeGreaterThan(2_000_000)
  issuer.misbehave({ kind: 'foreign-issuer', issuer: 'https://elsewhere.example' })
  expect(JSON.parse(await read(issuer.discoveryUrl))).toMatchObject({
    issuer: 'https://elsewhere.example',
    jwks_uri: issuer.jwksUrl,
  })
  issuer.misbehave({ kind: 'many-keys', count: 10_000 })
  expect(await kidsOf(issuer)).toHaveLength(10_001)
  issuer.misbehave({ kind: 'slow', delayMs: 1 })
  expect(await kidsOf(issuer)).toHaveLength(1)
})

test('redirects lead to the same place a given number of times, or once to anywhere', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })
  await using other = await startIssuer({ algorithms: ['ES256'] })

  issuer.misbehave({ kind: 'redirects', count: 4 }, 'jwks')
  const [kid] = await kidsOf(issuer)
  issuer.misbehave({ kind: 'redirect-to', url: other.jwksUrl }, 'jwks')

  expect(kid).toBe(issuer.keys.current('ES256').kid)
  expect(issuer.requestsByPath.get('/.well-known/jwks')).toBe(5)
  expect(await kidsOf(issuer)).toEqual([other.keys.current('ES256').kid])
})

test('a response can be cut off, and a port can refuse connections', async () => {
  await using issuer = await startIssuer({ algorithms: ['ES256'] })

  issuer.misbehave({ kind: 'cut' })
  await expect(fetch(issuer.jwksUrl).then((response) => response.text())).rejects.toThrow()
  issuer.behave()
  await issuer.goDown()
  await expect(fetch(issuer.jwksUrl)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  await issuer.comeBack()

  expect((await fetch(issuer.jwksUrl)).status).toBe(200)
})

test.each([
  { kind: 'silent' },
  { kind: 'slow', delayMs: 3_600_000 },
  { kind: 'trickle', everyMs: 3_600_000 },
] as const)('closing ends requests that hang: $kind', async (trouble) => {
  const issuer = await startIssuer({ algorithms: ['ES256'] })
  issuer.misbehave(trouble)
  const hanging = new Promise<string>((resolve) => {
    const sent = request(issuer.jwksUrl, (response) => response.on('error', () => resolve('cut')).resume())
    sent.on('error', () => resolve('cut')).end()
  })
  await fetch(`${issuer.url}/other`)

  await issuer[Symbol.asyncDispose]()

  expect(await hanging).toBe('cut')
})

const post = async (issuer: Issuer, path: string, body: string) => {
  const response = await fetch(issuer.url + path, { method: 'POST', body })
  return { status: response.status, text: (await response.text()).trimEnd() }
}

test('the controls issue a token, rotate keys, and start and end trouble', async () => {
  await using issuer = await startIssuer({ controls: true })

  const token = await post(
    issuer,
    '/token',
    '{"provider":"gitlab","algorithm":"ES256","claims":{"ref":"dev"}}',
  )
  const before = issuer.keys.current('ES256').kid
  const rotated = await post(issuer, '/rotate', '{"keep_old":false}')
  const trouble = await post(issuer, '/trouble', '{"kind":"status","status":500,"document":"jwks"}')
  const during = (await fetch(issuer.jwksUrl)).status
  const ended = await post(issuer, '/trouble', '')

  expect(decodeJwt(token.text)).toMatchObject({ ref: 'dev', project_path: 'acme/platform/shop' })
  expect([rotated.status, trouble.status, during, ended.status]).toEqual([200, 200, 500, 200])
  expect(await kidsOf(issuer)).not.toContain(before)
})

test.each([
  { path: '/token', body: '{"provider":"other"}', status: 400 },
  { path: '/token', body: '{"algorithm":"HS256"}', status: 400 },
  { path: '/token', body: '{"claims":[]}', status: 400 },
  { path: '/token', body: '[]', status: 400 },
  { path: '/token', body: '{', status: 400 },
  { path: '/token', body: `{"claims":"${'x'.repeat(70_000)}"}`, status: 400 },
  { path: '/trouble', body: '{"kind":"html","document":"other"}', status: 400 },
  { path: '/other', body: '{}', status: 404 },
])('the controls refuse POST $path with $status (row %$)', async ({ path, body, status }) => {
  await using issuer = await startIssuer({ algorithms: ['ES256'], controls: true })

  expect((await post(issuer, path, body)).status).toBe(status)
})
