import { describe, expect, test } from 'vitest'
import { callerError, classify } from '../../../../src/plugins/cloud/upstream/index.ts'
import { aim, failureOf, secretOf, settingsOf } from './aimed.ts'

const tokens = { operation: 'token' } as const

// Each trap of msal-node that docs/decisions/0007-cloud-clients.md names
describe('a token', () => {
  test('is cached for each resource', async () => {
    await using aimed = await aim()
    const { tokens: source } = aimed.upstream

    const first = await source.token('directory', aimed.call())
    const again = await source.token('directory', aimed.call())
    const other = await source.token('resource-manager', aimed.call())

    expect([again === first, other === first]).toEqual([true, false])
    expect(aimed.directory.journal.entries(tokens).map(({ body }) => body?.['scope'])).toEqual([
      expect.stringContaining(`${aimed.directory.directoryUrl}/.default`),
      expect.stringContaining(`${aimed.directory.resourceManagerUrl}/.default`),
    ])
  })

  test('is requested once for concurrent callers', async () => {
    await using aimed = await aim()

    const asked = await Promise.all(
      Array.from({ length: 8 }, () => aimed.upstream.tokens.token('directory', aimed.call())),
    )

    expect(new Set(asked).size).toBe(1)
    expect(aimed.directory.journal.entries(tokens)).toHaveLength(1)
    expect(aimed.directory.journal.entries({ operation: 'discovery' })).toHaveLength(1)
  })

  test('is replaced 5 minutes before it expires', async () => {
    await using aimed = await aim({ settings: { tokenLifetimeSeconds: 3599 } })
    const first = await aimed.upstream.tokens.token('directory', aimed.call())

    aimed.clock.advance(3200)
    const before = await aimed.upstream.tokens.token('directory', aimed.call())
    aimed.clock.advance(100)
    const after = await aimed.upstream.tokens.token('directory', aimed.call())

    expect([before === first, after === first]).toEqual([true, false])
  })

  test('with a short lifetime is used for half of it', async () => {
    await using aimed = await aim({ settings: { tokenLifetimeSeconds: 200 } })
    const first = await aimed.upstream.tokens.token('directory', aimed.call())

    aimed.clock.advance(90)
    const before = await aimed.upstream.tokens.token('directory', aimed.call())
    aimed.clock.advance(15)
    const after = await aimed.upstream.tokens.token('directory', aimed.call())

    expect([before === first, after === first]).toEqual([true, false])
  })

  test('without a lifetime is not cached', async () => {
    await using aimed = await aim()
    aimed.directory.fault({
      kind: 'status',
      status: 200,
      body: { token_type: 'Bearer', access_token: 'a' },
      ...tokens,
    })

    const first = await aimed.upstream.tokens.token('directory', aimed.call())
    const second = await aimed.upstream.tokens.token('directory', aimed.call())

    expect([first, second === 'a']).toEqual(['a', false])
  })

  test('is requested again after an invalidation, even while a request is running', async () => {
    await using aimed = await aim()
    aimed.directory.fault({ kind: 'held', ...tokens })
    const asked = aimed.upstream.tokens.token('directory', aimed.call())
    await aimed.directory.journal.arrived('token')

    aimed.upstream.tokens.invalidate()
    const anew = await aimed.upstream.tokens.token('directory', aimed.call())
    aimed.directory.release()
    const old = await asked
    const kept = await aimed.upstream.tokens.token('directory', aimed.call())

    expect([old === anew, kept === anew]).toEqual([false, true])
    aimed.upstream.tokens.invalidate()
    expect(await aimed.upstream.tokens.token('directory', aimed.call())).not.toBe(anew)
  })

  test('that lacks a permission is dropped at once ten times in a row, then every 2 s', async () => {
    await using aimed = await aim()
    const logins = () => aimed.directory.journal.entries({ operation: 'token' }).length
    const refused = async () => {
      const token = await aimed.upstream.tokens.token('directory', aimed.call())
      for (let caller = 0; caller < 8; caller++) aimed.upstream.tokens.denied(token)
      return token
    }

    const dropped = new Set(await Array.fromAsync({ length: 10 }, refused))
    const kept = new Set(await Array.fromAsync({ length: 10 }, refused))
    expect([dropped.size, kept.size, logins()]).toEqual([10, 1, 11])

    aimed.clock.advance(2)
    await refused()
    expect(logins()).toBe(12)
  })

  test('that was refused is dropped only if it is the cached one', async () => {
    await using aimed = await aim()
    const first = await aimed.upstream.tokens.token('directory', aimed.call())

    aimed.upstream.tokens.invalidate('another')
    const same = await aimed.upstream.tokens.token('directory', aimed.call())
    aimed.upstream.tokens.invalidate(first)
    const fresh = await aimed.upstream.tokens.token('directory', aimed.call())

    expect([same === first, fresh === first]).toEqual([true, false])
  })

  test.each([
    { name: 'missing', body: { token_type: 'Bearer', expires_in: 3599 } },
    { name: 'empty', body: { token_type: 'Bearer', expires_in: 3599, access_token: '' } },
    { name: 'a number', body: { token_type: 'Bearer', expires_in: 3599, access_token: 5 } },
    { name: 'an object', body: { token_type: 'Bearer', expires_in: 3599, access_token: {} } },
    {
      name: 'unfit for a header',
      body: { token_type: 'Bearer', expires_in: 3599, access_token: 'a\r\nb: c' },
    },
    { name: 'not ASCII', body: { token_type: 'Bearer', expires_in: 3599, access_token: 'größe' } },
  ])('that is $name in a 200 answer is a failure', async ({ body }) => {
    await using aimed = await aim()
    aimed.directory.fault({ kind: 'status', status: 200, body, times: null, ...tokens })

    const error = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))

    expect(error).toMatchObject({
      service: 'login',
      operation: 'token',
      status: 200,
      code: 'unusable_answer',
    })
    expect(error.message).toMatch(/cannot be read/)
  })

  test('is not requested again for any service within 2 s of a refusal; other failures are not remembered', async () => {
    await using aimed = await aim()
    const { tokens: source } = aimed.upstream
    const asked = () => aimed.directory.journal.entries(tokens).length
    const ask = () =>
      Promise.all(
        (['directory', 'resource-manager', 'directory'] as const).map((service) =>
          failureOf(source.token(service, aimed.call())),
        ),
      )
    aimed.directory.fault({
      kind: 'status',
      status: 400,
      body: { error: 'invalid_scope', error_codes: [70011] },
      times: 2,
      ...tokens,
    })
    await ask()
    expect(asked()).toBe(2)

    const body = {
      error: 'invalid_client',
      error_description: 'AADSTS7000215: Invalid.',
      error_codes: [7000215],
    }
    aimed.directory.fault({ kind: 'status', status: 401, body, times: 2, ...tokens })
    const first = await failureOf(source.token('directory', aimed.call()))
    expect((await ask()).map((error) => error === first)).toEqual([true, true, true])
    expect(asked()).toBe(3)

    aimed.clock.advance(2)
    expect(await failureOf(source.token('directory', aimed.call()))).toMatchObject({ code: 'AADSTS7000215' })
    expect(asked()).toBe(4)

    aimed.clock.advance(2)
    expect(await source.token('directory', aimed.call())).toMatch(/^eyJ/)
  })

  test.each(['empty', 'html', 'cut', 'dropped', 'lost'] as const)(
    'is requested again if the answer was %s',
    async (kind) => {
      await using aimed = await aim()
      aimed.directory.fault({ kind, ...tokens })

      await expect(aimed.upstream.tokens.token('directory', aimed.call())).resolves.toMatch(/./)

      expect(aimed.directory.journal.entries(tokens)).toHaveLength(2)
    },
  )

  test.each(['empty', 'html', 'cut', 'dropped'] as const)(
    'is requested again if the discovery was %s',
    async (kind) => {
      await using aimed = await aim()
      aimed.directory.fault({ kind, operation: 'discovery' })

      await expect(aimed.upstream.tokens.token('directory', aimed.call())).resolves.toMatch(/./)
    },
  )

  test.each([
    { status: 429, retryAfterSeconds: 2, pauses: [2_000] },
    { status: 503, retryAfterSeconds: 5, pauses: [5_000] },
    { status: 500, retryAfterSeconds: undefined, pauses: [800] },
  ])(
    'is requested again after status $status in time, not a minute later',
    async ({ status, retryAfterSeconds, pauses }) => {
      await using aimed = await aim({ parts: { random: () => 0.4 } })
      aimed.directory.fault({
        kind: 'status',
        status,
        code: 'temporarily_unavailable',
        retryAfterSeconds,
        ...tokens,
      })

      await expect(aimed.upstream.tokens.token('directory', aimed.call())).resolves.toMatch(/./)

      expect(aimed.clock.pauses).toEqual(pauses)
    },
  )

  test('that is throttled for long fails at once, and the next caller requests it again', async () => {
    await using aimed = await aim()
    aimed.directory.fault({ kind: 'throttled', retryAfterSeconds: 600, ...tokens })

    const error = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))
    const next = await aimed.upstream.tokens.token('directory', aimed.call())

    expect(callerError(error)).toMatchObject({
      kind: 'upstream',
      retryAfterSeconds: 600,
      message: expect.stringMatching(/throttled by the login service/),
    })
    expect(next).toMatch(/./)
  })

  test('for a wrong secret is refused with its code, without a retry and without the secret', async () => {
    await using aimed = await aim()
    const upstream = aimed.open({ credential: secretOf(aimed.directory, 'not-the-secret') })

    const error = await failureOf(upstream.directory.createApplication({ displayName: 'x' }, aimed.call()))

    expect(error).toMatchObject({ status: 401, code: 'AADSTS7000215', operation: 'token', lost: false })
    expect([classify(error).kind, aimed.directory.journal.entries(tokens).length]).toEqual(['credential', 1])
  })

  test('fails without the secret in the text, even if the service repeats it', async () => {
    await using aimed = await aim()
    const body = {
      error: 'invalid_client',
      error_description: `AADSTS7000215: ${aimed.directory.rootClientSecret} is wrong`,
      error_codes: [7000215],
    }
    aimed.directory.fault({ kind: 'status', status: 401, body, ...tokens })

    const error = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))

    expect([error.message, String(error.stack).includes(aimed.directory.rootClientSecret)]).toEqual([
      'AADSTS7000215: … is wrong',
      false,
    ])
  })

  test('is not requested through redirects, of the exchange or of the discovery', async () => {
    await using aimed = await aim()
    const url = `${aimed.directory.directoryUrl}/leak`
    aimed.directory.fault(
      { kind: 'redirect', url, operation: 'discovery' },
      { kind: 'redirect', url, ...tokens },
    )

    const discovery = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))
    const token = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))

    expect([discovery.code, token.code]).toEqual(['redirect_refused', 'redirect_refused'])
    expect(aimed.directory.journal.entries({ service: 'directory' })).toEqual([])
  })

  test('is not requested from another host that a discovery names', async () => {
    await using aimed = await aim()
    const { authorityUrl, directoryUrl, tenantId } = aimed.directory
    const body = {
      issuer: `${authorityUrl}/${tenantId}/v2.0`,
      jwks_uri: `${authorityUrl}/keys`,
      authorization_endpoint: `${authorityUrl}/authorize`,
      token_endpoint: `${directoryUrl}/${tenantId}/oauth2/v2.0/token`,
    }
    aimed.directory.fault({ kind: 'status', status: 200, body, operation: 'discovery' })

    const error = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))

    expect(error.code).toBe('foreign_address')
    expect(aimed.directory.journal.entries({ service: 'directory' })).toEqual([])
  })

  test('is requested again with a new discovery after an unusable one', async () => {
    await using aimed = await aim()
    aimed.directory.fault({
      kind: 'status',
      status: 200,
      body: { issuer: 'nowhere' },
      operation: 'discovery',
    })

    const error = await failureOf(aimed.upstream.tokens.token('directory', aimed.call()))

    expect(error).toMatchObject({ service: 'login', code: 'endpoints_resolution_error' })
    await expect(aimed.upstream.tokens.token('directory', aimed.call())).resolves.toMatch(/./)
  })

  test.each(['', '..', 'a/b', 'a?b', 'a b', 'a#', '%2e'])(
    'for the tenant "%s" is refused without a request',
    async (tenantId) => {
      await using aimed = await aim()

      const error = await failureOf(aimed.open({ tenantId }).tokens.token('directory', aimed.call()))

      expect([error.code, classify(error).kind, aimed.directory.journal.entries()]).toEqual([
        'unusable_tenant',
        'credential',
        [],
      ])
    },
  )

  test.each(['common', 'organizations', 'consumers'])(
    'for "%s", which is not a tenant, is refused',
    async (tenantId) => {
      await using aimed = await aim()

      const error = await failureOf(aimed.open({ tenantId }).tokens.token('directory', aimed.call()))

      expect(classify(error).kind).toBe('credential')
    },
  )

  test('for an unknown tenant is refused with that reason', async () => {
    await using aimed = await aim()

    const error = await failureOf(
      aimed
        .open({ tenantId: '11111111-1111-4111-8111-111111111111' })
        .tokens.token('directory', aimed.call()),
    )

    expect(error.message).toMatch(/AADSTS90002/)
  })

  test('is awaited by each caller until its deadline, and the request continues for the others', async () => {
    await using aimed = await aim()
    aimed.directory.fault({ kind: 'held', ...tokens })
    const caller = new AbortController()
    const patient = aimed.upstream.tokens.token('directory', aimed.call())
    const hasty = failureOf(aimed.upstream.tokens.token('directory', aimed.call(0.02)))
    const leaving = failureOf(
      aimed.upstream.tokens.token('directory', { ...aimed.call(), signal: caller.signal }),
    )
    await aimed.directory.journal.arrived('token')

    caller.abort()
    const [late, left] = await Promise.all([hasty, leaving])
    aimed.directory.release()

    expect([late.code, left.code]).toEqual(['deadline_exceeded', 'cancelled'])
    await expect(patient).resolves.toMatch(/./)
  })

  test('is not requested from a region forced on the process', async () => {
    await using aimed = await aim()
    const before = process.env['MSAL_FORCE_REGION']
    process.env['MSAL_FORCE_REGION'] = 'westeurope'
    using _ = {
      [Symbol.dispose]: () => {
        if (before === undefined) delete process.env['MSAL_FORCE_REGION']
        else process.env['MSAL_FORCE_REGION'] = before
      },
    }

    await expect(aimed.upstream.tokens.token('directory', aimed.call())).resolves.toMatch(/./)
  })

  test('can be requested below a path of the login host', async () => {
    await using aimed = await aim()
    const settings = settingsOf(aimed.directory)
    const authorityHost = `${aimed.directory.authorityUrl}/login`
    const base = `${authorityHost}/${settings.tenantId}`
    const document = {
      issuer: `${base}/v2.0`,
      jwks_uri: `${base}/keys`,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
    }
    aimed.directory.fault({ kind: 'status', status: 200, body: document, service: 'login' })
    aimed.directory.fault({
      kind: 'status',
      status: 200,
      body: { token_type: 'Bearer', expires_in: 3599, access_token: 'a' },
      service: 'login',
    })

    const upstream = aimed.open({ environment: { ...settings.environment, authorityHost } })

    await expect(upstream.tokens.token('directory', aimed.call())).resolves.toBe('a')
    expect(aimed.directory.journal.entries().map(({ path }) => path)).toEqual([
      `/login/${settings.tenantId}/v2.0/.well-known/openid-configuration`,
      `/login/${settings.tenantId}/token`,
    ])
  })
})

describe('claims', () => {
  test("are those of the root's token", async () => {
    await using aimed = await aim({ settings: { directoryPermissions: ['Application.ReadWrite.OwnedBy'] } })

    const claims = await aimed.upstream.tokens.claims('directory', aimed.call())

    expect(claims).toEqual({
      appId: aimed.directory.rootClientId,
      objectId: aimed.directory.rootServicePrincipalId,
      roles: ['Application.ReadWrite.OwnedBy'],
    })
  })

  test.each([
    'opaque',
    'a.b.c',
    `a.${Buffer.from('[1]').toString('base64url')}.c`,
    `a.${Buffer.from('{"roles":"x","appid":5}').toString('base64url')}.c`,
  ])('are empty for the token %s', async (token) => {
    await using aimed = await aim()
    aimed.directory.fault({
      kind: 'status',
      status: 200,
      body: { token_type: 'Bearer', expires_in: 3599, access_token: token },
      ...tokens,
    })

    expect(await aimed.upstream.tokens.claims('directory', aimed.call())).toEqual({
      appId: undefined,
      objectId: undefined,
      roles: [],
    })
  })
})

describe('proof of a secret', () => {
  const made = async (aimed: Awaited<ReturnType<typeof aim>>) => {
    const { id, appId } = aimed.directory.admin.addApplication({ displayName: 'target' })
    const endDateTime = new Date(aimed.clock.now() + 86_400_000).toISOString()
    const { keyId, secretText } = await aimed.upstream.directory.addApplicationPassword(
      id,
      { displayName: 'x', endDateTime },
      aimed.call(),
    )
    return { id, appId, keyId, secretText }
  }

  test('comes from the login service each time', async () => {
    await using aimed = await aim()
    const { id, appId, keyId, secretText } = await made(aimed)
    const prove = () => aimed.upstream.tokens.prove(appId, { secret: secretText }, 'directory', aimed.call())

    const [first, second] = [await prove(), await prove()]
    await aimed.upstream.directory.removeApplicationPassword(id, keyId, aimed.call())

    expect([first, second, await prove()]).toEqual([true, true, false])
    expect(aimed.directory.journal.entries({ operation: 'discovery' })).toHaveLength(1)
  })

  test('fails before the secret is known everywhere', async () => {
    await using aimed = await aim({ settings: { delaySeconds: { secretToToken: 30 } } })
    const { appId, secretText } = await made(aimed)
    const prove = () => aimed.upstream.tokens.prove(appId, { secret: secretText }, 'directory', aimed.call())

    const early = await prove()
    aimed.clock.advance(31)

    expect([early, await prove()]).toEqual([false, true])
  })

  test('fails before the service principal exists', async () => {
    await using aimed = await aim()
    const { directory } = aimed.upstream
    const { id, appId } = await directory.createApplication({ displayName: 'a' }, aimed.call())
    const endDateTime = new Date(aimed.clock.now() + 86_400_000).toISOString()
    const { secretText } = await directory.addApplicationPassword(
      id,
      { displayName: 'x', endDateTime },
      aimed.call(),
    )
    const prove = () => aimed.upstream.tokens.prove(appId, { secret: secretText }, 'directory', aimed.call())

    const early = await prove()
    await directory.createServicePrincipal(appId, aimed.call())

    expect([early, await prove()]).toEqual([false, true])
  })

  test('fails for an unknown client', async () => {
    await using aimed = await aim()

    expect(
      await aimed.upstream.tokens.prove(
        '22222222-2222-4222-8222-222222222222',
        { secret: 'x' },
        'directory',
        aimed.call(),
      ),
    ).toBe(false)
  })

  test('throws while the login service does not answer', async () => {
    await using aimed = await aim()
    await aimed.directory.goDown('login')

    const error = await failureOf(
      aimed.upstream.tokens.prove('a', { secret: 'x' }, 'directory', aimed.call()),
    )

    expect(error).toMatchObject({ status: 0, service: 'login' })
    expect(error.message).toMatch(/connection refused/)
  })

  test('does not change the cached token', async () => {
    await using aimed = await aim()
    const kept = await aimed.upstream.tokens.token('directory', aimed.call())

    await aimed.upstream.tokens.prove(
      aimed.directory.rootClientId,
      { secret: 'wrong' },
      'directory',
      aimed.call(),
    )

    expect(await aimed.upstream.tokens.token('directory', aimed.call())).toBe(kept)
  })
})
