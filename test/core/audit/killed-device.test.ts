import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { noSimulatedDisk, simulateDisk } from '../../support/disk/simulated-disk.ts'
import { runProcess } from '../../support/process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { deviceFixture, entry, verdictOn } from './opened-device.ts'

test.each([
  { name: 'before a write', point: 'audit.before-write', failure: 'kill', torn: false },
  { name: 'within a write', point: 'audit.before-write', failure: 'cut', torn: true },
  { name: 'after a write', point: 'audit.after-write', failure: 'kill', torn: false },
])(
  'a process killed $name loses no acknowledged line, and the next one continues the chain',
  async ({ point, failure, torn }) => {
    await using fixture = await deviceFixture()
    const file = fixture.file('audit.log')
    const program = 'test/core/audit/writing-program.ts'

    const { stdout, code } = await runProcess(program, {
      folder: fixture.folder,
      args: [file, point, failure],
    })
    await (await fixture.open()).write(entry('last'))
    const text = await readFile(file, 'utf8')
    const acknowledged = stdout.trim().split('\n')

    expect(code).toBe(null)
    expect(acknowledged).toHaveLength(80)
    expect(acknowledged.filter((number) => !text.includes(`"id":"${number}"`))).toEqual([])
    expect(text.includes('"event":"torn"')).toBe(torn)
    expect(text).toContain('"event":"resume","reason":"restart"')
    expect(await verdictOn([file])).toBe('intact')
  },
)

test.skipIf(noSimulatedDisk !== undefined)(
  'with AUDIT_SYNC=always, a line is acknowledged only once it is synced',
  async () => {
    await using folder = await temporaryFolder()
    using disk = simulateDisk(folder.path)
    const environment = await disk.environment()
    // the sync of the first record, of the first four lines, and of the next four
    disk.cutAtSync(3)

    const { stdout } = await runProcess('test/core/audit/writing-program.ts', {
      folder: folder.path,
      environment,
      args: [folder.file('audit.db'), 'audit.after-write', 'kill', 'always'],
    })

    expect(stdout.trim().split('\n').sort()).toEqual(['0.0', '0.1', '0.2', '0.3'])
  },
)
