import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { damage } from '../support/damage.ts'
import { refusedStart, startInFolder } from '../support/folder-server.ts'
import { logLines } from '../support/log-lines.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const aRole = { role_type: 'jwt', user_claim: 'sub', bound_audiences: ['ci'] }

/** A stopped server's folder, with two roles. */
const aFilledStore = stoppedServer(async (server) => {
  const root = server.as(server.rootToken)
  await root.write('auth/jwt/role/broken', aRole)
  await root.write('auth/jwt/role/whole', aRole)
})

const fileOf = (folder: string) => `${folder}/data/gatehouse.db`

test('requests for a role that cannot be opened get 500, the log names the record, and other requests continue', async () => {
  await using folder = await temporaryFolder()
  const token = await aFilledStore(folder.path)
  const key = damage(fileOf(folder.path), '%role/broken')
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(token)

  const read = await root.read('auth/jwt/role/broken')
  const login = await server.anonymous.write('auth/jwt/login', { role: 'broken', jwt: 'a.b.c' })
  const other = await root.read('auth/jwt/role/whole')
  const list = await root.list('auth/jwt/role')
  await server.stop()

  expect([read.status, read.body['errors']]).toEqual([500, ['internal error']])
  expect(login.status).not.toBe(200)
  expect(login.text).not.toContain('role/broken')
  expect([other.status, list.body['data']?.['keys']]).toEqual([200, ['broken', 'whole']])
  expect(logLines(server)).toContainEqual(
    expect.objectContaining({ level: 'error', key, msg: 'cannot decrypt a stored record' }),
  )
})

test('a damaged role can be deleted and written again', async () => {
  await using folder = await temporaryFolder()
  const token = await aFilledStore(folder.path)
  damage(fileOf(folder.path), '%role/broken')
  await using server = await startInFolder({ folder: folder.path })
  const root = server.as(token)

  const deleted = await root.delete('auth/jwt/role/broken')
  const written = await root.write('auth/jwt/role/broken', aRole)
  const read = await root.read('auth/jwt/role/broken')

  expect([deleted.status, written.status, read.status]).toEqual([204, 204, 200])
})

test.each([
  { name: 'the cluster id', like: 'cluster-id' },
  { name: 'a policy', like: 'policy/%/default' },
])('$name that cannot be opened does not stop the start', async ({ like }) => {
  await using folder = await temporaryFolder()
  const token = await aFilledStore(folder.path)
  damage(fileOf(folder.path), like)

  await using server = await startInFolder({ folder: folder.path })
  const self = await server.as(token).read('auth/token/lookup-self')

  expect(self.status).toBe(200)
})

test.each([
  { name: 'mount', like: 'core/mounts/%', code: 1, says: 'cannot start: the mount table cannot be read' },
  {
    name: 'keys of tokens',
    like: 'core/token-keys',
    code: 1,
    says: 'cannot start: the keys of tokens cannot be read',
  },
  { name: 'keyring', like: 'barrier/keyring', code: 5, says: 'seal key does not open this store' },
  { name: 'root key', like: 'barrier/root-key', code: 5, says: 'seal key does not open this store' },
])(
  'a damaged record ($name) stops the start in one clear line, each time, and nothing is replaced',
  async ({ like, code, says }) => {
    await using folder = await temporaryFolder()
    await aFilledStore(folder.path)
    const key = damage(fileOf(folder.path), like)
    const before = recordOf(folder.path, key)

    const refused = await refusedStart({ folder: folder.path })
    const again = await refusedStart({ folder: folder.path })

    expect([refused.code, again.code]).toEqual([code, code])
    expect(refused.message).toBe(says)
    if (code === 1) expect(logLines(refused)).toContainEqual(expect.objectContaining({ level: 'error', key }))
    expect(recordOf(folder.path, key)).toEqual(before)
  },
)

function recordOf(folder: string, key: string): unknown {
  const database = new Database(fileOf(folder), { readonly: true })
  try {
    return database.prepare('SELECT key, value FROM records WHERE key = ?').get(key)
  } finally {
    database.close()
  }
}
