import { dirname } from 'node:path'
import { AuditFaults } from '../../../src/core/audit/audit-faults.ts'
import { openDevice } from '../../../src/core/audit/device.ts'
import { systemClock } from '../../../src/lib/system/clock.ts'
import { entry } from './opened-device.ts'

/**
 * Writes lines to an audit file, several at a time, until a fault kills the process. Prints the number of each
 * line that was acknowledged.
 */
async function write(
  path: string,
  point: 'audit.before-write' | 'audit.after-write',
  failure: 'kill' | 'cut',
  sync: 'interval' | 'always',
) {
  const faults = new AuditFaults()
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const target = { kind: 'file', path, mode: 0o600, directories: [dirname(path)] } as const
  const device = openDevice(
    { path: 'file/', target, sync },
    {
      clock: systemClock,
      log,
      replica: 'one',
      faults: faults.shared,
      chainHead: undefined,
      sign: () => ({ key_id: '', public_key: '', signature: '' }),
      storeHead: async () => {},
    },
  )
  await device.opened
  faults.arm(point, failure, 20)
  for (let round = 0; ; round += 1) {
    const numbers = [0, 1, 2, 3].map((caller) => `${round}.${caller}`)
    await Promise.all(
      numbers.map((number) => device.write(entry(number)).then(() => process.stdout.write(`${number}\n`))),
    )
  }
}

const [, , path = '', point, failure, sync] = process.argv
if (point === 'audit.before-write' || point === 'audit.after-write')
  await write(path, point, failure === 'cut' ? 'cut' : 'kill', sync === 'always' ? 'always' : 'interval')
