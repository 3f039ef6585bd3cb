import { existsSync } from 'node:fs'
import { chmod, link, mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import {
  deliver,
  placeRequest,
  takeAnswer,
  takeRequest,
} from '../../../src/core/tokens/store/root-token-request.ts'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const id = '0123456789abcdef'.repeat(2)

/** A private folder with a database's place in it. */
async function aFolder() {
  const folder = await temporaryFolder()
  await mkdir(folder.file('data'), { mode: 0o700 })
  const database = folder.file('data/gatehouse.db')
  return { ...folder, database, request: `${database}.root-token-request` }
}

test('a request is taken once, and its answer too', async () => {
  await using folder = await aFolder()
  await placeRequest(folder.database, id)

  const taken = await takeRequest(folder.database)
  const again = await takeRequest(folder.database)
  const delivery = deliver(folder.database, id, { token: 't' })
  const early = await takeAnswer(folder.database, id)
  await delivery.publish()
  const answer = await takeAnswer(folder.database, id)

  expect([taken, again]).toEqual([{ id }, undefined])
  expect([early, answer]).toEqual([undefined, { token: 't' }])
  expect(await readdir(folder.file('data'))).toEqual([])
})

type Folder = Awaited<ReturnType<typeof aFolder>>

test.each<{ name: string; change(folder: Folder): Promise<unknown>; says: string }>([
  {
    name: 'that others can read',
    change: ({ request }) => chmod(request, 0o640),
    says: 'other users can read or write it',
  },
  {
    name: 'with a second name',
    change: ({ request, file }) => link(request, file('other')),
    says: 'it is not a regular file of one name',
  },
  {
    name: 'that is a link',
    change: async ({ request, file }) => {
      await rename(request, file('other'))
      await symlink(file('other'), request)
    },
    says: 'it cannot be read: ELOOP',
  },
  {
    name: 'with other content',
    change: ({ request }) => writeFile(request, `{"type":"request","id":"${id}"}\n`),
    says: 'it is no request for a root token',
  },
  {
    name: 'of a command that has given up',
    change: ({ request }) => utimes(request, 0, Date.now() / 1000 - 60),
    says: 'it is too old',
  },
  {
    name: 'in a folder that others can write',
    change: ({ file }) => chmod(file('data'), 0o720),
    says: 'can be written by other users (mode 0720)',
  },
])('a request $name is removed and not answered', async ({ change, says }) => {
  await using folder = await aFolder()
  await placeRequest(folder.database, id)
  await change(folder)

  const taken = await takeRequest(folder.database)

  expect(taken).toEqual({ refused: expect.stringContaining(says) })
  expect(await readdir(folder.file('data'))).toEqual([])
})

test('if the token cannot be stored, the command gets the reason and no token is left', async () => {
  await using folder = await aFolder()
  const faults = new StorageFaults()
  // the next write is that of the token
  const files = { STORAGE: `sqlite:${folder.database}`, SEAL_KEY_FILE: folder.file('key') }
  const settings = { ...files, DEFAULT_MOUNTS: '' }
  await using _server = await startTestServer({ settings, faults })
  faults.arm('storage.before-commit', 'full')
  await placeRequest(folder.database, id)

  await expect
    .poll(() => takeAnswer(folder.database, id), { timeout: 60_000 })
    .toEqual({ error: 'storage is full' })

  expect((await readdir(folder.file('data'))).filter((name) => name.includes('root-token'))).toEqual([])
})

test('a token that nobody fetches within 30 s is revoked, and its file is removed', async () => {
  await using folder = await aFolder()
  const clock = new FakeClock()
  const settings = { STORAGE: `sqlite:${folder.database}`, SEAL_KEY_FILE: folder.file('key') }
  await using server = await startTestServer({ settings, clock })
  const answer = `${folder.database}.root-token-${id}`
  await placeRequest(folder.database, id)
  await expect.poll(() => existsSync(answer), { timeout: 60_000 }).toBe(true)
  const { token } = JSON.parse(await readFile(answer, 'utf8'))
  const valid = await server.as(token).read('auth/token/lookup-self')

  clock.advance(31)
  await expect.poll(() => existsSync(answer), { timeout: 60_000 }).toBe(false)

  expect(valid).toMatchObject({ status: 200 })
  await expect
    .poll(async () => (await server.as(token).read('auth/token/lookup-self')).status, { timeout: 60_000 })
    .toBe(403)
})
