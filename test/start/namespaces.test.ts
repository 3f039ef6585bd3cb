import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { type Client, inside } from '../support/client.ts'
import { invalidToken } from '../support/error-bodies.ts'
import { copyAsIfKilled, startInFolder } from '../support/folder-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const tokenIn = async (root: Client, namespace: string) => {
  const { body } = await root.write('auth/token/create', { ttl: '1h' }, inside(namespace))
  return String(body['auth']?.['client_token'])
}

test('namespaces, their locks and their contents survive a restart', async () => {
  await using folder = await temporaryFolder()
  await using first = await startInFolder({ folder: folder.path })
  const root = first.as(first.rootToken)
  const made = await root.write('sys/namespaces/a', { custom_metadata: { k: 'v' } })
  await root.write('sys/namespaces/b', {}, inside('a'))
  const token = await tokenIn(root, 'a/b')
  const { body } = await root.write('sys/namespaces/api-lock/lock/a')
  await first.stop()

  await using next = await startInFolder({ folder: folder.path })
  const again = next.as(first.rootToken)

  expect((await again.read('sys/namespaces/a')).body['data']).toEqual({ ...made.body['data'], locked: true })
  expect((await next.as(token).read('auth/token/lookup-self', inside('a/b'))).status).toBe(503)
  expect(
    (await again.write('sys/namespaces/api-lock/unlock/a', { unlock_key: body['data']?.['unlock_key'] }))
      .status,
  ).toBe(204)
  expect((await next.as(token).read('auth/token/lookup-self', inside('a/b'))).status).toBe(200)
})

test('a deletion that a kill interrupts continues at the next start, and nothing of the namespace is valid in between', async () => {
  await using folder = await temporaryFolder()
  await using left = await temporaryFolder()
  await using first = await startInFolder({ folder: folder.path })
  const root = first.as(first.rootToken)
  await root.write('sys/namespaces/a')
  const tokens = await Promise.all(Array.from({ length: 50 }, () => tokenIn(root, 'a')))
  await root.delete('sys/namespaces/a')

  copyAsIfKilled(folder.path, left.path)
  const before = keysIn(left.path).length
  await using next = await startInFolder({ folder: left.path })
  const again = next.as(first.rootToken)
  const refused = await Promise.all(tokens.map((token) => next.as(token).read('auth/token/lookup-self')))
  while ((await again.read('sys/namespaces/a')).status !== 404);

  // the tokens were still to be deleted
  expect(keysIn(left.path).length).toBeLessThan(before - tokens.length)
  expect(refused.filter(({ status }) => status === 200)).toEqual([])
  expect((await again.write('sys/namespaces/a')).status).toBe(200)
  expect((await next.as(String(tokens[0])).read('auth/token/lookup-self', inside('a'))).body).toEqual(
    invalidToken,
  )
  expect((await again.list('auth/token/accessors')).body['data']?.['keys']).toHaveLength(1)
})

test('a deletion concurrent with writes to the namespace leaves no record except that its id was used', async () => {
  await using folder = await temporaryFolder()
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(server.rootToken)
  const at = inside('a')
  const id = String((await root.write('sys/namespaces/a'))['body']['data']?.['id'])
  const signer = aSigner()
  const now = Math.floor(Date.now() / 1000)
  const jwt = (sub: string) => signer.sign({ sub, aud: 'g', iat: now, exp: now + 600 })
  await root.write('sys/auth/j', { type: 'jwt' }, at)
  await root.write('auth/j/config', { jwt_validation_pubkeys: [signer.pem] }, at)
  await root.write('auth/j/role/r', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'g' }, at)
  const mounts = {
    ...(await root.read('sys/auth', at)).body['data'],
    ...(await root.read('sys/mounts', at)).body['data'],
  }
  const uuids = Object.values(mounts).map(({ uuid }) => String(uuid))
  const person = await root.write('identity/entity', { name: 'of-the-root' })
  const fill = (n: number) => [
    root.write('auth/token/create', { ttl: '1h' }, at),
    root.write('auth/token/create', { ttl: '1h', period: '1h' }, at),
    server.anonymous.write('auth/j/login', { role: 'r', jwt: jwt(`person-${n}`) }, at),
    root.write(`sys/policies/acl/p${n}`, { policy: 'path "a" {}' }, at),
    root.write('identity/entity', { name: `entity-${n}` }, at),
    root.write(
      'identity/group',
      { name: `group-${n}`, member_entity_ids: [person.body['data']?.['id']] },
      at,
    ),
    root.write(`auth/token/roles/r${n}`, {}, at),
    root.write(`auth/j/role/r${n}`, { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'g' }, at),
    root.write(`cubbyhole/c${n}`, { a: 'b' }, at),
    root.write('sys/wrapping/wrap', { a: 'b' }, { headers: { ...at.headers, 'X-Vault-Wrap-TTL': '60' } }),
    root.write(`sys/auth/m${n}`, { type: 'jwt' }, at),
    root.write(`identity/oidc/role/o${n}`, { key: 'default' }, at),
  ]

  const calls = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => fill(from + n)).flat()
  const before = calls(0, 6)
  const deleted = root.delete('sys/namespaces/a')
  const among = [...before, ...calls(6, 12)]
  expect((await deleted).body['data']).toEqual({ status: 'in-progress' })
  const answers = await Promise.all([...among, ...calls(12, 14)])
  while ((await root.read('sys/namespaces/a')).status !== 404);
  const accessors = await root.list('auth/token/accessors')
  await server.stop()

  expect(answers.filter(({ status }) => status >= 500)).toEqual([])
  expect(answers.slice(-24).filter(({ status }) => status < 400)).toEqual([])
  expect(accessors.body['data']?.['keys']).toHaveLength(1)
  const left = keysIn(folder.path)
    .filter((key) => key.includes(id) || uuids.some((uuid) => key.includes(uuid)))
    // when a key would have been rotated: the entry is removed at that time
    .filter((key) => !key.startsWith('core/identity-token-rotation/'))
  expect(left).toEqual([`core/namespace-used/${id}`])
})

function keysIn(folder: string): string[] {
  const database = new Database(join(folder, 'data', 'gatehouse.db'))
  const keys = database.prepare<[], { key: string }>('SELECT key FROM records').all()
  database.close()
  return keys.map(({ key }) => key)
}
