import { mkdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { runServer, StartedProcess, startProcess } from '../support/process.ts'
import { unpackOlderCode } from './older-code.ts'

test('0.2.0 and this version refuse a store that the other one holds with exit code 3, and 0.2.0 refuses it afterwards with 4, unchanged', async () => {
  await using code = await unpackOlderCode('0.2.0')
  const folder = code.file('server')
  const store = join(folder, 'data/gatehouse.db')
  await mkdir(folder)
  const startOld = () =>
    new StartedProcess(relative(join(import.meta.dirname, '../..'), code.file('src/main.ts')), { folder })

  const old = startOld()
  await old.logged('listening on ')
  const [, token = ''] = /^Root token: (\S+)$/m.exec(old.stdout) ?? []
  const refused = await runServer({ folder })
  await old.end('SIGTERM')
  await using server = await startProcess({ folder })
  const self = await server.as(token).read('auth/token/lookup-self')
  const refusedOld = await startOld().ended
  await server.stop()
  const before = await readFile(store)
  const back = await startOld().ended

  expect([refused.code, refusedOld.code, self.status]).toEqual([3, 3, 200])
  expect(refused.stderr).toContain('cannot open data/gatehouse.db: in use by process ')
  expect([back.code, back.stderr]).toEqual([
    4,
    'cannot open data/gatehouse.db: it needs schema 2 or later, this program knows 1\n',
  ])
  expect(await readFile(store)).toEqual(before)
})
