import { describe, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { errors, notAccepted } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const missing = errors('missing x-forwarded-for header and configured to reject when not present')
const foreign = errors(
  'client address not authorized for x-forwarded-for and configured to reject connection',
)
const tooFew = errors(
  'malformed x-forwarded-for configuration or request, hops to skip larger than x-forwarded-for header length',
)
const noAddress = errors('malformed x-forwarded-for header, not an address')

const signer = aSigner('ES256')
const from = (address: string | undefined) =>
  address === undefined ? {} : { headers: { 'X-Forwarded-For': address } }
const inside = '10.1.2.3, 10.1.2.3'

/**
 * The id of a token that may be used from 10.1.0.0/16 only, created through a trusted proxy with at most one
 * hop.
 */
async function boundToken({ root, anonymous }: TestServer): Promise<string> {
  const seconds = Math.floor(Date.now() / 1000)
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] }, from(inside))
  await root.write(
    'auth/jwt/role/r',
    { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'a', token_bound_cidrs: '10.1.0.0/16' },
    from(inside),
  )
  const jwt = signer.sign({ sub: 'x', aud: 'a', iat: seconds, exp: seconds + 600 })
  const login = await anonymous.write('auth/jwt/login', { role: 'r', jwt }, from(inside))
  expect(login.status).toBe(200)
  return String(login.body['auth']?.['client_token'])
}

const trusting = { TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8' }

describe('the address behind a trusted proxy', () => {
  test.each<{
    name: string
    settings: Record<string, string>
    header: string | undefined
    status: number
    body?: object
  }>([
    { name: 'the rightmost address counts', settings: {}, header: '9.9.9.9, 10.1.9.9', status: 200 },
    {
      name: 'what the client wrote itself does not',
      settings: {},
      header: '10.1.9.9, 9.9.9.9',
      status: 403,
      body: notAccepted,
    },
    { name: 'blanks around it do not matter', settings: {}, header: '9.9.9.9 ,\t10.1.9.9 ', status: 200 },
    { name: 'an IPv4 address in IPv6 is that address', settings: {}, header: '::ffff:10.1.9.9', status: 200 },
    {
      name: 'a skipped hop',
      settings: { TRUSTED_PROXY_HOPS: '1' },
      header: '10.1.9.9, 9.9.9.9',
      status: 200,
    },
    {
      name: 'too few to skip',
      settings: { TRUSTED_PROXY_HOPS: '1' },
      header: '10.1.9.9',
      status: 400,
      body: tooFew,
    },
    { name: 'no header: the proxy itself', settings: {}, header: undefined, status: 403, body: notAccepted },
    {
      name: 'no header, but one is required',
      settings: { TRUSTED_PROXY_REQUIRED: 'true' },
      header: undefined,
      status: 400,
      body: missing,
    },
    {
      name: 'a header, and one is required',
      settings: { TRUSTED_PROXY_REQUIRED: 'true' },
      header: '10.1.9.9',
      status: 200,
    },
    { name: 'a name', settings: {}, header: 'localhost', status: 400, body: noAddress },
    { name: 'an address with its port', settings: {}, header: '10.1.9.9:80', status: 400, body: noAddress },
    { name: 'nothing behind the comma', settings: {}, header: '10.1.9.9,', status: 400, body: noAddress },
    {
      name: 'a name of a member of every object',
      settings: {},
      header: '__proto__',
      status: 400,
      body: noAddress,
    },
  ])('$name', async ({ settings, header, status, body }) => {
    await using server = await startTestServer({ settings: { ...trusting, ...settings } })
    const token = await boundToken(server)

    const answer = await server.as(token).read('auth/token/lookup-self', from(header))

    expect(answer.status).toBe(status)
    if (body !== undefined) expect(answer.body).toEqual(body)
  })

  test('a header given twice is one list', async () => {
    await using server = await startTestServer({ settings: trusting })
    const token = await boundToken(server)

    const answer = await server
      .as(token)
      .read('auth/token/lookup-self', { headers: { 'X-Forwarded-For': ['10.1.9.9', '9.9.9.9'] as never } })

    expect(answer.body).toEqual(notAccepted)
  })
})

describe('without trust', () => {
  test.each<{ name: string; settings: Record<string, string> }>([
    { name: 'nobody is trusted', settings: {} },
    { name: 'others are trusted', settings: { TRUSTED_PROXIES: '10.0.0.0/8' } },
  ])("$name: the header is ignored and the peer's address counts", async ({ settings }) => {
    await using server = await startTestServer({ settings })
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('auth/jwt/role/r', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'a',
      token_bound_cidrs: '10.1.0.0/16',
    })
    const seconds = Math.floor(Date.now() / 1000)
    const jwt = signer.sign({ sub: 'x', aud: 'a', iat: seconds, exp: seconds + 600 })

    expect(
      await server.anonymous.write('auth/jwt/login', { role: 'r', jwt }, from('10.1.2.3')),
    ).toMatchObject({ status: 403, body: notAccepted })
    expect((await server.root.read('auth/token/lookup-self', from('nonsense'))).status).toBe(200)
  })

  const settings = { TRUSTED_PROXIES: '10.0.0.0/8', TRUSTED_PROXY_REQUIRED: 'true' }

  test.each(['sys/mounts', 'nope', 'auth/jwt/login', 'sys/seal-status', '/foo'])(
    '%s is refused where a proxy is required',
    async (path) => {
      await using server = await startTestServer({ settings })

      expect(await server.root.read(path, from('10.1.2.3'))).toMatchObject({ status: 400, body: foreign })
    },
  )

  test.each(['/health/live', '/health/ready'])('%s is served nevertheless', async (path) => {
    await using server = await startTestServer({ settings })

    expect((await server.anonymous.read(path)).status).toBe(200)
  })
})
