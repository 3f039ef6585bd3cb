import { describe, expect, test } from 'vitest'
import { startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { startProcess } from '../support/process.ts'
import { fakeSystem, noFakedSystem } from '../support/system/faked-system.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** More lookups than the thread pool has threads. */
const mounts = Array.from({ length: 24 }, (_, index) => `far-${index}`)
const claims = { sub: 'alice', aud: 'gatehouse', iat: 1, exp: 4_000_000_000 }

describe.skipIf(noFakedSystem !== undefined)('while a name server never answers', () => {
  test('logins that need no name succeed, whatever thread their signature is checked on, and the server stops in time', async () => {
    await using folder = await temporaryFolder()
    const system = fakeSystem(folder.path)
    const [near, slow, far] = [aSigner('ES256'), aSigner('ES512'), aSigner('ES256', { kid: 'known' })]
    await using provider = await startProvider({ '/keys': { keys: [far.jwk] } })
    await using server = await startProcess({
      folder: folder.path,
      settings: { STOP_TIMEOUT: '1s' },
      environment: { ...system.environment, UV_THREADPOOL_SIZE: '16' },
    })
    const root = server.as(server.rootToken)
    const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gatehouse' }
    await root.write('auth/jwt/config', { jwt_validation_pubkeys: [near.pem, slow.pem] })
    await root.write('auth/jwt/role/dev', role)
    const { port } = new URL(provider.url)
    for (const mount of mounts) {
      await root.write(`sys/auth/${mount}`, { type: 'jwt' })
      const jwks_url = `http://${mount}.silent.test:${port}/keys`
      expect(await root.write(`auth/${mount}/config`, { jwks_url })).toMatchObject({ status: 204 })
      await root.write(`auth/${mount}/role/dev`, role)
    }

    system.silenceNames()
    const hanging = mounts.map((mount) =>
      server.anonymous
        .write(`auth/${mount}/login`, { role: 'dev', jwt: far.sign(claims, { kid: 'unknown' }) })
        .catch(() => undefined),
    )
    const statuses: number[] = []
    for (let round = 0; round < 50; round++)
      for (const signer of [near, slow])
        statuses.push(
          (await server.anonymous.write('auth/jwt/login', { role: 'dev', jwt: signer.sign(claims) })).status,
        )
    const { code } = await server.stop()
    await Promise.all(hanging)

    expect(statuses).toEqual(statuses.map(() => 200))
    // only those of the configurations
    expect(provider.hits).toHaveLength(mounts.length)
    // 0 if this took longer than the time limit of a request for keys
    expect([0, 6]).toContain(code)
  })
})
