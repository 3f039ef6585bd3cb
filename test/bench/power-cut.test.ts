import { expect, test } from 'vitest'
import { runCrashRounds } from '../../bench/crash-rounds.ts'
import { programFile } from '../support/bundled.ts'
import { noSimulatedDisk } from '../support/disk/simulated-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.skipIf(noSimulatedDisk !== undefined)(
  'five power cuts in the middle of logins, renewals, revocations and writes of secrets lose nothing that was answered, and bring nothing back',
  async () => {
    await using folder = await temporaryFolder()

    const counts = await runCrashRounds({
      rounds: 5,
      folder: folder.path,
      power: true,
      seed: 20_261_122,
      maxSyncs: 15,
      entry: programFile('test/support/practice-server.ts'),
      say: () => {},
    })

    expect(counts).toMatchObject({ rounds: 5, lost: 0, doubled: 0, disagreeing: 0, refused: 2, returned: 0 })
    expect(counts.acknowledged).toBeGreaterThan(0)
    expect(counts.lives).toBeGreaterThan(0)
    expect(counts.secrets).toBeGreaterThan(0)
  },
  180_000,
)
