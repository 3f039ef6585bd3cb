import { expect, test } from 'vitest'
import { jwksOf, startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('an accepted move is completed after kill -9', async () => {
  await using folder = await temporaryFolder()
  const signer = aSigner('ES256', { kid: 'known' })
  await using keys = await startProvider({ '/jwks': jwksOf(signer) })
  const first = await startProcess({ folder: folder.path })
  const root = first.as(first.rootToken)
  await root.write('auth/jwt/config', { jwks_url: `${keys.url}/jwks` })
  await root.write('auth/jwt/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' })
  const claims = { sub: 'a', aud: 'gate', exp: 4_000_000_000 }
  const { body: login } = await first.anonymous.write('auth/jwt/login', {
    role: 'r',
    jwt: signer.sign(claims),
  })
  // a login that waits for its keys is inside the mount, and the move waits for it
  const asked = new Promise<void>((reached) => keys.routes.set('/jwks', () => reached()))
  const waiting = first.anonymous
    .write('auth/jwt/login', { role: 'r', jwt: signer.sign(claims, { kid: 'other' }) })
    .catch(() => undefined)
  await asked
  const { status, body } = await root.write('sys/remount', { from: 'auth/jwt', to: 'auth/moved' })
  await first.stop('SIGKILL')
  await waiting

  await using next = await startInFolder({ folder: folder.path })
  const again = next.as(first.rootToken)
  const path = `sys/remount/status/${String(body['data']?.['migration_id'])}`
  let migration = await again.read(path)
  while (String(migration.body['data']?.['migration_info']?.['status']) === 'in-progress')
    migration = await again.read(path)

  expect(status).toBe(200)
  expect(migration.body['data']?.['migration_info']).toEqual({
    source_mount: 'auth/jwt/',
    status: 'success',
    target_mount: 'auth/moved/',
  })
  expect((await again.read('auth/moved/role/r')).status).toBe(200)
  expect((await again.read('auth/jwt/role/r')).status).toBe(404)
  expect((await next.as(String(login['auth']?.['client_token'])).read('auth/token/lookup-self')).status).toBe(
    403,
  )
  expect((await again.read('sys/auth')).body['data']?.['moved/']).not.toHaveProperty('moving')
})
