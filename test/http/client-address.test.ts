import { describe, expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { errors, notAccepted } from '../support/error-bodies.ts'
import { shared } from '../support/shared.ts'
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

/** A server that trusts its proxies, and a client with a bound token. */
const trusting = (settings: Record<string, string>) =>
  shared(async () => {
    const server = await startTestServer({
      settings: { TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8', ...settings },
    })
    return { ...server, bound: server.as(await boundToken(server)) }
  })

describe('the address behind a trusted proxy', () => {
  const plain = trusting({})
  const skipping = trusting({ TRUSTED_PROXY_HOPS: '1' })
  const requiring = trusting({ TRUSTED_PROXY_REQUIRED: 'true' })

  test.each<{
    name: string
    open: ReturnType<typeof trusting>
    header: string | undefined
    status: number
    body?: object
  }>([
    { name: 'the rightmost address counts', open: plain, header: '9.9.9.9, 10.1.9.9', status: 200 },
    {
      name: 'what the client wrote itself does not',
      open: plain,
      header: '10.1.9.9, 9.9.9.9',
      status: 403,
      body: notAccepted,
    },
    { name: 'blanks around it do not matter', open: plain, header: '9.9.9.9 ,\t10.1.9.9 ', status: 200 },
    { name: 'an IPv4 address in IPv6 is that address', open: plain, header: '::ffff:10.1.9.9', status: 200 },
    { name: 'a skipped hop', open: skipping, header: '10.1.9.9, 9.9.9.9', status: 200 },
    { name: 'too few to skip', open: skipping, header: '10.1.9.9', status: 400, body: tooFew },
    { name: 'no header: the proxy itself', open: plain, header: undefined, status: 403, body: notAccepted },
    {
      name: 'no header, but one is required',
      open: requiring,
      header: undefined,
      status: 400,
      body: missing,
    },
    { name: 'a header, and one is required', open: requiring, header: '10.1.9.9', status: 200 },
    { name: 'a name', open: plain, header: 'localhost', status: 400, body: noAddress },
    { name: 'an address with its port', open: plain, header: '10.1.9.9:80', status: 400, body: noAddress },
    { name: 'nothing behind the comma', open: plain, header: '10.1.9.9,', status: 400, body: noAddress },
    {
      name: 'a name of a member of every object',
      open: plain,
      header: '__proto__',
      status: 400,
      body: noAddress,
    },
  ])('$name', async ({ open, header, status, body }) => {
    const { bound } = await open()

    const answer = await bound.read('auth/token/lookup-self', from(header))

    expect(answer.status).toBe(status)
    if (body !== undefined) expect(answer.body).toEqual(body)
  })

  test('a header given twice is one list', async () => {
    const { bound } = await plain()

    const answer = await bound.read('auth/token/lookup-self', {
      headers: { 'X-Forwarded-For': ['10.1.9.9', '9.9.9.9'] as never },
    })

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

  const requiring = shared(() =>
    startTestServer({ settings: { TRUSTED_PROXIES: '10.0.0.0/8', TRUSTED_PROXY_REQUIRED: 'true' } }),
  )

  test.each(['sys/mounts', 'nope', 'auth/jwt/login', 'sys/seal-status', '/foo'])(
    '%s is refused where a proxy is required',
    async (path) => {
      const server = await requiring()

      expect(await server.root.read(path, from('10.1.2.3'))).toMatchObject({ status: 400, body: foreign })
    },
  )

  test.each(['/health/live', '/health/ready'])('%s is served nevertheless', async (path) => {
    const server = await requiring()

    expect((await server.anonymous.read(path)).status).toBe(200)
  })
})
