import { readFile, rename, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { type DeviceFixture, deviceFixture, entry } from '../core/audit/opened-device.ts'
import { commandHere } from '../support/command-here.ts'

const verify = (fixture: DeviceFixture, ...args: string[]) =>
  commandHere('audit-verify', { folder: fixture.folder, args })

/** Two files of one device: one that was rotated, and the current one. */
async function rotatedDevice(): Promise<DeviceFixture> {
  const fixture = await deviceFixture()
  // it does not find out by itself that the file was renamed
  const device = await fixture.open({ timing: { checkMs: 60_000 } })
  await device.write(entry(1))
  await rename(fixture.file('audit.log'), fixture.file('audit.log.1'))
  await device.reopen()
  await Promise.all([device.write(entry(2)), device.write(entry(3))])
  await device[Symbol.asyncDispose]()
  return fixture
}

test('audit:verify says what each file holds, and that it is intact', async () => {
  await using fixture = await rotatedDevice()
  await writeFile(fixture.file('keys.json'), JSON.stringify({ data: { keys: fixture.keys.keys } }))
  const [head] = await fixture.keys.heads()

  const verified = await verify(
    fixture,
    ...['audit.log.1', 'audit.log', '--keys', 'keys.json'],
    ...['--head', `${head?.id}:${head?.seq}:${head?.hash}`],
  )

  expect(verified).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      'audit.log.1: lines 4, first seq 1, last seq 4, check points 1, unsigned tail 0, torn 0, gaps 0\n',
      'intact\n',
      'audit.log: lines 5, first seq 5, last seq 9, check points 1, unsigned tail 0, torn 0, gaps 0\n',
      'intact\n',
    ].join(''),
  })
})

test('audit:verify names the first line that is wrong and exits with 1', async () => {
  await using fixture = await rotatedDevice()
  const text = await readFile(fixture.file('audit.log'), 'utf8')
  await writeFile(fixture.file('changed.log'), text.replace('"id":"3"', '"id":"4"'))

  const verified = await verify(fixture, 'audit.log.1', 'changed.log', 'audit.log')

  expect(verified.code).toBe(1)
  expect(verified.stdout.split('\n').slice(2)).toEqual([
    'changed.log: lines 2, first seq 5, last seq 6, check points 0, unsigned tail 2, torn 0, gaps 0',
    'broken at line 3: changed',
    '',
  ])
})

test('audit:verify --json prints one object', async () => {
  await using fixture = await rotatedDevice()

  const verified = await verify(
    fixture,
    'audit.log',
    '--json',
    '--head',
    `${'0'.repeat(32)}:1:${'0'.repeat(64)}`,
  )

  expect(verified.code).toBe(1)
  expect(JSON.parse(verified.stdout)).toEqual({
    intact: false,
    files: [
      {
        file: 'audit.log',
        chains: [
          {
            id: expect.stringMatching(/^[0-9a-f]{32}$/),
            lines: 5,
            first_seq: 5,
            last_seq: 9,
            checkpoints: 1,
            unsigned_tail: 0,
            torn: 0,
            gaps: 0,
          },
        ],
        broken: { line: 5, reason: 'head missing' },
      },
    ],
  })
})

test('audit:verify --mixed reports each chain', async () => {
  await using one = await rotatedDevice()
  await using other = await rotatedDevice()
  const texts = await Promise.all([one, other].map(({ file }) => readFile(file('audit.log.1'), 'utf8')))
  await writeFile(one.file('collected.log'), texts.join(''))
  const ids = texts.map((text) => JSON.parse(text.split('\n')[0] ?? '').chain.id)

  const verified = await verify(one, 'collected.log', '--mixed')

  const counts = 'lines 4, first seq 1, last seq 4, check points 1, unsigned tail 0, torn 0, gaps 0'
  expect(verified.stdout).toBe(ids.map((id) => `collected.log ${id}: ${counts}\n`).join('') + 'intact\n')
})

test.each([
  { name: 'no file', args: [], code: 2, stderr: 'usage: gatehouse audit-verify FILE…' },
  { name: 'an unknown option', args: ['a', '--deep'], code: 2, stderr: 'usage: gatehouse audit-verify' },
  { name: 'a malformed head', args: ['a', '--head', '1:2'], code: 2, stderr: '--head: not ID:SEQ:HASH' },
  { name: 'a missing file', args: ['missing'], code: 1, stderr: 'cannot read missing: ENOENT' },
  { name: 'missing keys', args: ['a', '--keys', 'none'], code: 1, stderr: 'cannot read none: ENOENT' },
  {
    name: 'other keys',
    args: ['a', '--keys', 'audit.log'],
    code: 2,
    stderr: 'audit.log is not a response of',
  },
])('audit:verify with $name exits with $code', async ({ args, code, stderr }) => {
  await using fixture = await deviceFixture()
  await (await fixture.open())[Symbol.asyncDispose]()

  const refused = await verify(fixture, ...args)

  expect({ ...refused, stderr: refused.stderr.slice(0, stderr.length) }).toEqual({ code, stdout: '', stderr })
})
