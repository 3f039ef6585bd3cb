import { expect, test } from 'vitest'
import { restorationKey, restorationNote } from '../../src/core/barrier/restoration-note.ts'
import { backUp } from '../../src/storage/copies/backup.ts'
import { restoreBackup } from '../../src/storage/copies/restore.ts'
import { StorageFaults } from '../../src/storage/faults.ts'
import { openReadOnly } from '../../src/storage/sqlite/existing-database.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a start that fails while it completes a restoration serves nothing, and the next one completes it', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('gatehouse.db')
  const backup = folder.file('b')
  const faults = new StorageFaults()
  const settings = { STORAGE: `sqlite:${path}`, SEAL_KEY: 'ab'.repeat(32), BACKGROUND: 'off' }
  const start = () => startTestServer({ settings, faults })
  const first = await start()
  const { body } = await first.root.write('auth/token/create', { num_uses: 3 })
  const token = String(body.auth?.client_token)
  await first[Symbol.asyncDispose]()
  const given = { product_version: '1', cluster_id: 'c', created_time: 'now', seal_type: 'static' }
  await backUp(backup, { source: path, given })
  const note = restorationNote({ backup_time: 'then', restored_time: 'now', revoke_tokens: false })
  const isPending = () => {
    using reader = openReadOnly(path)
    return reader.get(restorationKey) !== undefined
  }
  /** The outcome of a start on a restored store with a fault at this statement. */
  const startWithFault = async (statement: number) => {
    await restoreBackup({ backup, path, force: true, stamp: `${statement}`, noteOf: () => note })
    faults.arm('storage.statement', 'io', statement)
    const outcome = await start().then(
      async (server) => {
        const status = (await server.as(token).read('auth/token/lookup-self')).status
        await server[Symbol.asyncDispose]()
        return status
      },
      () => 'no start',
    )
    return { outcome, isOver: faults.disarm('storage.statement') }
  }

  const outcomes: unknown[] = []
  for (let statement = 0, isOver = false; !isOver; statement++) {
    const { outcome, ...rest } = await startWithFault(statement)
    isOver = rest.isOver
    outcomes.push(outcome)
    if (outcome === 'no start') expect(isPending()).toBe(true)
    await using next = await start()
    expect((await next.as(token).read('auth/token/lookup-self')).status).toBe(403)
    expect(isPending()).toBe(false)
  }
  expect(new Set(outcomes)).toEqual(new Set([403, 'no start']))
})
