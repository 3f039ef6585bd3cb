import { existsSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AuditFailure, AuditFaults } from '../../../src/core/audit/audit-faults.ts'
import type { AuditDevice } from '../../../src/core/audit/device.ts'
import { many } from '../../support/rounds.ts'
import { deviceFixture, entry, verdictOn } from './opened-device.ts'

type Step =
  | { readonly do: 'write'; readonly lines: number; readonly turns: number }
  | { readonly do: 'fail'; readonly failure: AuditFailure; readonly after: boolean }
  | { readonly do: 'recover' | 'rename' | 'rotate' | 'restart' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write'),
      lines: fc.integer({ min: 1, max: 60 }),
      turns: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fail'),
      failure: fc.constantFrom('ENOSPC', 'EIO', 'torn'),
      after: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('recover') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('rename', 'rotate', 'restart') }) },
)

test('whatever happens to a device, its files are intact and have each acknowledged line once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      await using fixture = await deviceFixture()
      const file = fixture.file('audit.log')
      const rotated: string[] = []
      const acknowledged: string[] = []
      const faults = new AuditFaults()
      const open = () => fixture.open({ faults: faults.shared, timing: { checkMs: 5 } })
      let device: AuditDevice = await open()
      let written = 0

      const write = async (lines: number) => {
        const ids = Array.from({ length: lines }, () => `line ${++written}.`)
        const outcomes = await Promise.allSettled(ids.map((id) => device.write(entry(id))))
        acknowledged.push(...ids.filter((_, at) => outcomes[at]?.status === 'fulfilled'))
      }
      const moveAway = async () => {
        const old = fixture.file(`audit.log.${rotated.length}`)
        await rename(file, old).then(
          () => rotated.push(old),
          () => undefined,
        )
      }
      const recover = () => {
        for (const point of ['audit.before-write', 'audit.after-write'] as const) faults.disarm(point)
      }
      for (const one of steps) {
        if (one.do === 'write') for (let turn = 0; turn < one.turns; turn += 1) await write(one.lines)
        if (one.do === 'fail') faults.arm(one.after ? 'audit.after-write' : 'audit.before-write', one.failure)
        if (one.do === 'recover') recover()
        if (one.do === 'rename') await moveAway()
        if (one.do === 'rotate') {
          await moveAway()
          await device.reopen()
        }
        if (one.do === 'restart') {
          await device[Symbol.asyncDispose]()
          device = await open()
        }
      }
      recover()
      await write(1)
      await device[Symbol.asyncDispose]()

      // after a rename, there is no new file before the next check
      const files = [...rotated, file].filter((name) => existsSync(name))
      const text = (await Promise.all(files.map((name) => readFile(name, 'utf8')))).join('')
      expect(await verdictOn(files)).toBe('intact')
      expect(acknowledged.filter((id) => text.split(`"id":"${id}"`).length !== 2)).toEqual([])
    }),
    { numRuns: many(8, 15) },
  )
})
