import Database from 'better-sqlite3'
import { copyFile, mkdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { refusedStart, startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The command that docs/operations.md gives operators, with SQLite's command line. */
function backUp(from: string, to: string): void {
  const database = new Database(from, { readonly: true })
  database.prepare('VACUUM INTO ?').run(to)
  database.close()
}

test('a backup of a running server, put in place with the seal key, is that server at that moment', async () => {
  await using folder = await temporaryFolder()
  await using other = await temporaryFolder()
  await using server = await startProcess({ folder: folder.path })
  const root = server.as(server.rootToken)
  await root.write('sys/policies/acl/before', { policy: 'path "a" { capabilities = ["read"] }' })
  const { body } = await root.write('auth/token/create', { ttl: '1h' })
  const token = String(body.auth?.client_token)

  await mkdir(other.file('data'))
  backUp(folder.file('data/gatehouse.db'), other.file('data/gatehouse.db'))
  await root.write('sys/policies/acl/after', { policy: '' })
  await root.write('auth/token/revoke', { token })

  expect((await refusedStart({ folder: other.path })).code).toBe(5)
  await copyFile(folder.file('data/seal.key'), other.file('data/seal.key'))
  await using restored = await startInFolder({ folder: other.path })
  const again = restored.as(server.rootToken)
  expect((await again.read('sys/policies/acl/before')).status).toBe(200)
  expect((await again.read('sys/policies/acl/after')).status).toBe(404)
  expect((await restored.as(token).read('auth/token/lookup-self')).status).toBe(200)
  expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(403)
})
