import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { deviceFixture, entry, kindsIn, verdictOn } from './opened-device.ts'

test('on a disk that fills up within a line, the chain continues once there is room', async ({ skip }) => {
  using disk = mountSmallDisk('256k')
  if (disk === undefined) return skip('mounting is not allowed here')
  await using fixture = await deviceFixture()
  const file = join(disk.path, 'audit.log')
  await writeFile(join(disk.path, 'other'), Buffer.alloc(100_000))
  const device = await fixture.open({ target: { path: file, directories: [disk.path] } })

  const long = entry('x'.repeat(10_001))
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => device.write(long)))
  await rm(join(disk.path, 'other'))
  await device.write(entry('last'))
  await device[Symbol.asyncDispose]()

  const missed = outcomes.filter(({ status }) => status === 'rejected')
  expect(missed.length).toBeGreaterThan(0)
  expect(missed.at(-1)).toMatchObject({ reason: { code: 'ENOSPC' } })
  const kinds = await kindsIn(file)
  expect(kinds.filter((kind) => kind === 'request')).toHaveLength(40 - missed.length + 1)
  expect(kinds.slice(-5)).toEqual(['resume reopened', 'gap', 'request', 'close', 'checkpoint'])
  expect(await verdictOn([file])).toBe('intact')
})
