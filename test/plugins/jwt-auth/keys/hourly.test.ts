import { expect, test } from 'vitest'
import { readConfig } from '../../../../src/plugins/jwt-auth/config/jwt-config.ts'
import { JwtMethod } from '../../../../src/plugins/jwt-auth/method.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { openTestCore } from '../../../support/open-core.ts'
import { quietLog } from '../../../support/start-server.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner } from '../signer.ts'

test('keys that logins needed are fetched again once an hour, and those of a mount that nobody uses are not', async () => {
  const clock = new FakeClock()
  const [one, other] = [aSigner('ES256', { kid: 'one' }), aSigner('ES256', { kid: 'other' })]
  await using issuer = await startProvider({ '/keys': jwksOf(one, other) })
  await using core = await openTestCore({
    clock,
    defaultMounts: [{ table: 'auth', path: 'jwt', type: 'jwt' }],
  })
  const raised: string[] = []
  const method = new JwtMethod({
    ...core,
    ...{ maxJwtSize: 0, failuresKept: 0, keepsSignatures: true, log: quietLog },
    onFetch: () => {},
    onKeyAlert: (_mount, { kind }) => raised.push(kind),
  })
  const mount = core.mounts.table.all().find(({ plugin }) => plugin === 'jwt')
  if (mount === undefined) throw new Error('there is no mount')
  await method.stateOf(mount).changeConfig(() => readConfig({ jwks_url: `${issuer.url}/keys` }))
  const look = async (secondsLater = 0) => {
    clock.advance(secondsLater)
    await method.places.watchKeys(new AbortController().signal)
    return issuer.hits.length
  }

  const unused = [await look(), await look(7200)]
  await (await method.stateOf(mount).findConfig())?.keyset.refresh()
  const used = [await look(), await look(3540)]
  issuer.routes.set('/keys', jwksOf(one))
  const due = [await look(60), await look()]

  expect([unused, used, due]).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
  ])
  expect(raised).toEqual(['single_key'])
})
