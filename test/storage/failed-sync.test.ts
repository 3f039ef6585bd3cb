import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { StorageFaults } from '../../src/storage/faults.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { noSimulatedDisk, simulateDisk } from '../support/disk/simulated-disk.ts'
import { startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { contradictions, writeUntil } from './answers.ts'

/** The content of the database as a read-only program sees it. */
function recoveriesIn(path: string): unknown {
  const database = new Database(path, { readonly: true })
  try {
    return database.prepare("SELECT value FROM meta WHERE name = 'recoveries'").pluck().get()
  } finally {
    database.close()
  }
}

test.each(['full', 'read-only', 'io', 'end-thread'] as const)(
  'the log is cleaned before the failure of a commit (%s) is reported, without another write',
  async (failure) => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    const faults = new StorageFaults()
    await using storage = await openSqlite({ path, faults })
    await storage.update('a', () => Buffer.from('before'))
    const before = recoveriesIn(path)
    faults.arm('storage.before-commit', failure)

    await expect(storage.update('a', () => Buffer.from('lost'))).rejects.toMatchObject({
      kind: 'unavailable',
    })

    expect(before).toBeUndefined()
    expect(recoveriesIn(path)).toBeGreaterThan(0)
  },
)

describe.skipIf(noSimulatedDisk !== undefined)('on a disk whose syncs fail', () => {
  test.each([
    { name: 'once', failing: 1, passing: 20 },
    { name: 'at the first write', failing: 1, passing: 0 },
    { name: 'twice in a row', failing: 2, passing: 20 },
    { name: 'from then on', failing: -1, passing: 20 },
  ])('($name), a refused write does not come back after kill -9', async ({ failing, passing }) => {
    await using folder = await temporaryFolder()
    using disk = simulateDisk(folder.path)
    const path = folder.file('gatehouse.db')
    const environment = await disk.environment()

    const answers = await writeUntil(
      path,
      (given) => {
        if (given.length === 1) disk.failLogSyncs(failing, passing)
        return given.some(({ isStored }) => !isStored)
      },
      { callers: 1, environment },
    )

    expect(answers.at(-1)).toMatchObject({ isStored: false })
    expect(await contradictions(path, answers)).toEqual([])
  })

  test('a policy whose write got 503 is not there when the server was killed right after that', async () => {
    await using folder = await temporaryFolder()
    using disk = simulateDisk(folder.file('data'))
    const environment = await disk.environment()
    await using server = await startProcess({
      folder: folder.path,
      environment,
      settings: { BACKGROUND: 'off' },
    })
    const root = server.as(server.rootToken)
    const policy = { policy: 'path "x" { capabilities = ["read"] }' }
    await root.write('sys/policies/acl/kept', policy)
    disk.failLogSyncs(1)

    const refused = await root.write('sys/policies/acl/refused', policy)
    await server.stop('SIGKILL')
    await using next = await startInFolder({ folder: folder.path })
    const list = await next.as(server.rootToken).list('sys/policies/acl')

    expect([refused.status, refused.body['errors']]).toEqual([503, ['storage is unavailable']])
    expect(list.body['data']?.['keys']).toEqual(['default', 'kept', 'root'])
  })
})
