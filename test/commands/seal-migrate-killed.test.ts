import { expect, test } from 'vitest'
import type { Migration } from '../../src/commands/seal-migrate.ts'
import { runProcess } from '../support/process.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { opens, type SealType, sealsOf, sharesIn } from './sealed-folder.ts'

const aStoppedServer = stoppedServer()

type Step = { from: SealType; migration: Migration }
const held = (out: string) => ({ shares: 3, threshold: 2, out })
/** Each type becomes each other one. */
const steps: Step[] = [
  { from: 'static', migration: { to: 'command' } },
  { from: 'command', migration: { to: 'shamir', held: held('first.json') } },
  { from: 'shamir', migration: { to: 'command' } },
  { from: 'command', migration: { to: 'static' } },
  { from: 'static', migration: { to: 'shamir', held: held('second.json') } },
  { from: 'shamir', migration: { to: 'static' } },
]

test('a migration that is killed at any step leaves a store that one of its two seals opens', async () => {
  await using folder = await temporaryFolder()
  const root = await aStoppedServer(folder.path)
  const seals = await sealsOf(folder.path)
  let shares = ''

  for (const { from, migration } of steps) {
    const { to } = migration
    const settings = { ...seals, SEAL: from }
    const killedAt = async (point: string) => {
      const args = [folder.file('data/gatehouse.db'), JSON.stringify(migration), point]
      const outcome = await runProcess('test/commands/migrating-program.ts', {
        folder: folder.path,
        args,
        settings,
        input: shares,
      })
      expect([outcome.code, outcome.stdout]).toEqual([null, ''])
    }
    await killedAt('storage.before-commit')
    expect(
      await opens(folder.path, { type: from, root, shares: from === 'shamir' ? shares : '' }),
    ).toMatchObject({ type: from, sealed: false, token: 200 })
    await killedAt('storage.after-commit')
    if (migration.held !== undefined) shares = await sharesIn(folder.file(migration.held.out))
    expect(await opens(folder.path, { type: to, root, shares: to === 'shamir' ? shares : '' })).toMatchObject(
      { type: to, sealed: false, token: 200 },
    )
  }
})
