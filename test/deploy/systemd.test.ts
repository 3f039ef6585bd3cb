import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { read, settingsOf } from './deployed.ts'
import { directive, directives, environmentIn, program, unitFile } from './systemd-unit.ts'
import { outcomeOf } from './tools.ts'

const project = join(import.meta.dirname, '../..')
const lacksSystemd = !existsSync('/usr/bin/systemd-analyze')

test('the settings of the unit are ones that the server accepts, and it has time to stop', () => {
  const settings = Object.entries(environmentIn('/')).filter(([name]) => name.startsWith('GATEHOUSE_'))
  const { drainDelayMs, stopTimeoutMs, autoInit } = settingsOf(Object.fromEntries(settings))

  expect(Number(directive('TimeoutStopSec')) * 1000).toBeGreaterThan(drainDelayMs + stopTimeoutMs)
  expect(directives.get('LoadCredential')).toEqual(['seal.key:/etc/gatehouse/seal.key'])
  expect(autoInit).toBe(false)
  expect(directive('RestartPreventExitStatus')).toBe('2 4 5 7')
  expect(directive('LimitCORE')).toBe('0')
  expect(read('deploy/systemd/gatehouse.sysusers.conf')).toContain(`\nu ${directive('User')} `)
})

test.skipIf(lacksSystemd && process.env['CI'] !== 'true')(
  'systemd finds nothing wrong with the unit, and little that it leaves open',
  async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('gatehouse.service')
    await writeFile(file, read(unitFile).replace(program, '/bin/true'))

    const checked = await outcomeOf('systemd-analyze', ['verify', '--man=no', file])
    const open = await outcomeOf('systemd-analyze', [
      ...['security', '--offline=true', '--no-pager', '--threshold=20'],
      join(project, unitFile),
    ])

    expect(checked).toMatchObject({ code: 0, output: '' })
    expect(open.code).toBe(0)
    expect(open.output).toContain('Overall exposure level for gatehouse.service: 1.')
  },
)
