import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import {
  appendFile,
  chmod,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AuditFaults } from '../../../src/core/audit/audit-faults.ts'
import { deviceFixture, entry, kindsIn, kindsOf, untilReady, verdictOf, verdictOn } from './opened-device.ts'

test('a line ends in its chain member, whose hash covers everything before it', async () => {
  await using fixture = await deviceFixture()
  const device = await fixture.open()

  await device.write('{"type":"request","a":"é"}')
  const [first = '', second = ''] = (await readFile(fixture.file('audit.log'), 'utf8')).split('\n')
  const { chain: start } = JSON.parse(first)
  const { chain } = JSON.parse(second)

  expect(start).toMatchObject({ seq: 1, prev: '0'.repeat(64) })
  expect(chain).toEqual({ id: start.id, seq: 2, prev: start.hash, hash: chain.hash })
  expect(second).toBe(`{"type":"request","a":"é","chain":${JSON.stringify(chain)}}`)
  expect(chain.hash).toBe(
    createHash('sha256')
      .update(`gatehouse-audit-1\n${chain.id}\n2\n${start.hash}\n{"type":"request","a":"é"}`)
      .digest('hex'),
  )
})

test('a closed device ends with a close record and a checkpoint, whose position is stored', async () => {
  await using fixture = await deviceFixture()
  const device = await fixture.open()
  await device.write(entry(1))

  await device[Symbol.asyncDispose]()
  const lines = (await readFile(fixture.file('audit.log'), 'utf8')).trimEnd().split('\n')
  const { chain } = JSON.parse(lines.at(-1) ?? '')

  expect(await kindsIn(fixture.file('audit.log'))).toEqual(['start', 'request', 'close', 'checkpoint'])
  expect(await fixture.keys.heads()).toEqual([
    {
      device: 'file/',
      replica: 'one',
      id: chain.id,
      seq: 4,
      hash: chain.hash,
      time: '2026-01-02T03:04:05.250Z',
      is_final: true,
    },
  ])
  expect(fixture.logged).toContainEqual(
    expect.objectContaining({ event: 'audit_head', device: 'file/', seq: 4, hash: chain.hash }),
  )
  expect(await verdictOn([fixture.file('audit.log')], { keys: fixture.keys.keys })).toBe('intact')
})

test('a device that is closed in the turn of a line writes it, and nothing after its end', async () => {
  await using fixture = await deviceFixture()
  const device = await fixture.open()

  const written = device.write(entry(1))
  await device[Symbol.asyncDispose]()
  await written

  expect(await kindsIn(fixture.file('audit.log'))).toEqual(['start', 'request', 'close', 'checkpoint'])
  expect(fixture.logged).not.toContainEqual(expect.objectContaining({ event: 'audit_failed' }))
})

test('lines of one turn are written in order, and a checkpoint follows every 1,000 records', async () => {
  await using fixture = await deviceFixture()
  const device = await fixture.open()

  await Promise.all(Array.from({ length: 2_500 }, (_, number) => device.write(entry(number))))
  await device[Symbol.asyncDispose]()
  const kinds = await kindsIn(fixture.file('audit.log'))
  const text = await readFile(fixture.file('audit.log'), 'utf8')
  const ids = [...text.matchAll(/"request":\{"id":"(\d+)"/g)].map(([, id]) => Number(id))

  expect(ids).toEqual(Array.from({ length: 2_500 }, (_, number) => number))
  expect(kinds.flatMap((kind, at) => (kind === 'checkpoint' ? [at] : []))).toEqual([1_000, 2_001, 2_504])
  expect(await verdictOn([fixture.file('audit.log')])).toBe('intact')
})

test('the first record without a signature gets one after a while', async () => {
  await using fixture = await deviceFixture()
  const device = await fixture.open({ timing: { checkpointMs: 0, checkMs: 10 } })

  while (!(await kindsIn(fixture.file('audit.log'))).includes('checkpoint')) await device.write(entry(1))

  expect(await verdictOn([fixture.file('audit.log')])).toBe('intact')
})

test('after a rotated key, checkpoints are signed with the new one, and the old one is still listed', async () => {
  await using fixture = await deviceFixture()
  await (await fixture.open())[Symbol.asyncDispose]()

  await fixture.keys.rotate()
  await (await fixture.open())[Symbol.asyncDispose]()
  const text = await readFile(fixture.file('audit.log'), 'utf8')
  const used = [...text.matchAll(/"key_id":"(\w+)"/g)].map(([, id]) => id)
  const [former, current] = fixture.keys.keys

  expect(used).toEqual([former?.key_id, current?.key_id])
  expect(former?.retired_time).toBe('2026-01-02T03:04:05.250Z')
  expect(current?.retired_time).toBe('')
  expect(await verdictOn([fixture.file('audit.log')], { keys: fixture.keys.keys })).toBe('intact')
  expect(await verdictOn([fixture.file('audit.log')], { keys: fixture.keys.keys.slice(1) })).toEqual({
    line: 3,
    reason: 'unknown key',
  })
})

test('a restart continues the chain', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  await (await fixture.open())[Symbol.asyncDispose]()

  await (await fixture.open())[Symbol.asyncDispose]()

  expect(await kindsIn(file)).toEqual([
    'start',
    'close',
    'checkpoint',
    'resume restart',
    'close',
    'checkpoint',
  ])
  expect(await verdictOn([file])).toBe('intact')
})

test('a file that ends mid-line is continued with a torn record', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  await (await fixture.open())[Symbol.asyncDispose]()
  await appendFile(file, '{"time":"2026-01')

  await (await fixture.open())[Symbol.asyncDispose]()

  expect((await kindsIn(file)).slice(3)).toEqual(['torn', 'resume restart', 'close', 'checkpoint'])
  expect(await readFile(file, 'utf8')).toContain('"torn_bytes":16,')
  expect(await verdictOn([file])).toBe('intact')
})

test('a last line without its line end counts as torn', async () => {
  await using fixture = await deviceFixture()
  const copy = fixture.file('copy.log')
  const device = await fixture.open()
  await device.write(entry(1))
  await writeFile(copy, (await readFile(fixture.file('audit.log'), 'utf8')).trimEnd())

  await (await fixture.open({ target: { path: copy } }))[Symbol.asyncDispose]()

  expect(await kindsIn(copy)).toEqual(['start', 'request', 'torn', 'resume restart', 'close', 'checkpoint'])
  expect(await verdictOn([copy])).toBe('intact')
})

test('a signed last line without its line end is completed', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  await (await fixture.open())[Symbol.asyncDispose]()
  await truncate(file, (await stat(file)).size - 1)

  await (await fixture.open())[Symbol.asyncDispose]()

  expect((await kindsIn(file)).slice(2, 5)).toEqual(['checkpoint', 'torn', 'resume restart'])
  expect(await verdictOn([file])).toBe('intact')
})

test('a writer killed after it ended a torn line leaves a file that the next one continues', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  await (await fixture.open())[Symbol.asyncDispose]()
  await appendFile(file, '{"time":"2026-01\n')

  await (await fixture.open())[Symbol.asyncDispose]()

  expect((await kindsIn(file)).slice(3)).toEqual(['torn', 'resume restart', 'close', 'checkpoint'])
  expect(await verdictOn([file])).toBe('intact')
})

test('after rename and SIGHUP, the chain continues in a new file', async () => {
  await using fixture = await deviceFixture()
  const [file, old] = [fixture.file('audit.log'), fixture.file('audit.log.1')]
  const device = await fixture.open({ timing: { checkMs: 60_000 } })
  await device.write(entry(1))

  await rename(file, old)
  await device.reopen()
  await device.write(entry(2))
  await device[Symbol.asyncDispose]()

  expect(await kindsIn(old)).toEqual(['start', 'request', 'rotate', 'checkpoint'])
  expect(await kindsIn(file)).toEqual(['resume reopened', 'request', 'close', 'checkpoint'])
  expect(await verdictOn([old, file])).toBe('intact')
  expect(await verdictOn([file])).toBe('intact')
  expect(await verdictOn([file, old])).toEqual({ line: 1, reason: 'reordered' })
})

test('a deleted file is created again, and the chain continues with the next number', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  const device = await fixture.open({ timing: { checkMs: 10 } })
  await device.write(entry(1))
  const removed = await readFile(file)

  await rm(file)
  while (!existsSync(file)) await device.write(entry(2))
  await device.write(entry(3))
  await device[Symbol.asyncDispose]()

  expect((await kindsIn(file))[0]).toBe('resume file_missing')
  expect(await verdictOn([file])).toBe('intact')
  expect(removed.toString()).toContain('"seq":2,')
})

test('a file that is gone at the start is continued from the stored position', async () => {
  await using fixture = await deviceFixture()
  const [file, old] = [fixture.file('audit.log'), fixture.file('audit.log.1')]
  await (await fixture.open())[Symbol.asyncDispose]()
  await rename(file, old)

  await (await fixture.open())[Symbol.asyncDispose]()

  expect(await kindsIn(file)).toEqual(['resume file_missing', 'close', 'checkpoint'])
  expect(await verdictOn([old, file])).toBe('intact')
})

test('an older copy of the file is continued from the stored position, so verification finds the gap', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  const device = await fixture.open()
  await device.write(entry(1))
  const { size } = await stat(file)
  await device.write(entry(2))
  await device[Symbol.asyncDispose]()
  await truncate(file, size)

  await (await fixture.open())[Symbol.asyncDispose]()

  expect(await verdictOn([file])).toEqual({ line: 3, reason: 'removed' })
})

test.each(['ENOSPC', 'EIO', 'EROFS', 'torn'] as const)(
  'after %s, the device fails until a write succeeds, and a gap record counts what was missed',
  async (failure) => {
    await using fixture = await deviceFixture()
    const file = fixture.file('audit.log')
    const faults = new AuditFaults()
    const device = await fixture.open({ faults: faults.shared })
    await device.write(entry(1))

    faults.arm('audit.before-write', failure)
    const refused = await Promise.allSettled([device.write(entry(2)), device.write(entry(3))])
    const wasUp = device.isUp
    faults.disarm('audit.before-write')
    await device.write(entry(4))
    await device[Symbol.asyncDispose]()

    const code = failure === 'torn' ? 'ENOSPC' : failure
    expect(refused.at(-1)).toMatchObject({ status: 'rejected', reason: { name: 'DeviceError', code } })
    expect(wasUp).toBe(false)
    expect(fixture.logged.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ event: 'audit_failed', device: 'file/', code }),
    ])
    expect(fixture.logged).toContainEqual(expect.objectContaining({ event: 'audit_back', device: 'file/' }))
    expect(fixture.states).toEqual([false, true])
    const missed = refused.filter(({ status }) => status === 'rejected').length
    expect(await readFile(file, 'utf8')).toContain(`"event":"gap","missed":${missed},`)
    expect(await verdictOn([file])).toBe('intact')
  },
)

test('a failed device recovers without further lines', async () => {
  await using fixture = await deviceFixture()
  const faults = new AuditFaults()
  const device = await fixture.open({ faults: faults.shared, timing: { checkMs: 10 } })
  faults.arm('audit.before-write', 'EIO')
  await expect(device.write(entry(1))).rejects.toThrow('audit device file/: injected')

  faults.disarm('audit.before-write')
  await expect.poll(() => device.isUp).toBe(true)
  await device[Symbol.asyncDispose]()

  expect(await readFile(fixture.file('audit.log'), 'utf8')).toContain('"event":"gap","missed":1,')
  expect(await verdictOn([fixture.file('audit.log')])).toBe('intact')
})

test('a write that hangs fails at the deadline; the device refuses lines until it answers', async () => {
  await using fixture = await deviceFixture()
  const faults = new AuditFaults()
  const device = await fixture.open({ faults: faults.shared, timing: { deadlineMs: 200, checkMs: 10 } })
  await untilReady(device)
  faults.arm('audit.before-write', 'hang')

  const late = device.write(entry(1))
  await expect(late).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(device.write(entry(2))).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  faults.disarm('audit.before-write')
  await expect.poll(() => device.isUp).toBe(true)
  await device.write(entry(3))
  await device[Symbol.asyncDispose]()

  const text = await readFile(fixture.file('audit.log'), 'utf8')
  expect(text).toContain('"id":"1"')
  expect(text).not.toContain('"id":"2"')
  expect(text).toContain('"event":"gap","missed":1,')
  expect(await verdictOn([fixture.file('audit.log')])).toBe('intact')
})

test.each([
  { name: 'before', turns: 0 },
  { name: 'after', turns: 1 },
])('a line is not late because this process was held up $name it was sent', async ({ turns }) => {
  await using fixture = await deviceFixture()
  const device = await fixture.open({ timing: { deadlineMs: 400 } })
  await untilReady(device)
  const before = [...fixture.states]

  const written = device.write(entry(1))
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)

  await expect(written).resolves.toBeUndefined()
  expect(fixture.states).toEqual(before)
})

test('a device that hangs does not prevent its own close', async () => {
  await using fixture = await deviceFixture()
  const faults = new AuditFaults()
  const device = await fixture.open({ faults: faults.shared, timing: { deadlineMs: 100 } })
  await untilReady(device)
  faults.arm('audit.before-write', 'hang')
  await expect(device.write(entry(1))).rejects.toMatchObject({ code: 'ETIMEDOUT' })

  await expect(device[Symbol.asyncDispose]()).resolves.toBeUndefined()
})

test('a FIFO without a reader fails; one whose reader stops fails at the deadline, and continues with it', async () => {
  await using fixture = await deviceFixture()
  const fifo = fixture.file('audit.fifo')
  execFileSync('mkfifo', [fifo])
  const device = await fixture.open({ target: { path: fifo }, timing: { deadlineMs: 800, checkMs: 10 } })
  const codeOfWrite = () => device.write(entry(0)).catch(({ code }: { code: string }) => code)
  // until its thread has started, it may be late
  await expect.poll(codeOfWrite).toBe('ENXIO')

  await using reader = await open(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
  await expect.poll(() => device.isUp).toBe(true)
  const big = 'x'.repeat(200_000)
  await expect(device.write(entry(big))).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  let text = ''
  while (!device.isUp) text += await readSome(reader)
  await device.write(entry(2))
  await device[Symbol.asyncDispose]()
  for (let more = await readSome(reader); more !== ''; more = await readSome(reader)) text += more

  const kinds = kindsOf(text)
  expect(kinds.slice(0, 2)).toEqual(['start', 'gap'])
  expect(kinds.filter((kind) => kind !== 'gap')).toEqual([
    ...['start', 'request', 'request', 'close', 'checkpoint'],
  ])
  expect(verdictOf([text])).toBe('intact')
})

test('the file is readable by its owner only, never executable, and its folders are created', async () => {
  await using fixture = await deviceFixture()
  const file = join(fixture.folder, 'a/b/audit.log')

  await fixture.open({ target: { path: file, mode: 0o640 } })

  expect((await stat(file)).mode & 0o777).toBe(0o640)
  expect((await stat(join(fixture.folder, 'a'))).mode & 0o777).toBe(0o700)
})

test('mode 0 leaves an existing file as it is', async () => {
  await using fixture = await deviceFixture()
  const file = fixture.file('audit.log')
  await appendFile(file, '')
  await chmod(file, 0o644)

  await fixture.open({ target: { mode: 0 } })

  expect((await stat(file)).mode & 0o777).toBe(0o644)
})

test.each([
  {
    name: 'the file is a symbolic link',
    path: 'in/link.log',
    prepare: (folder: string) => symlink(join(folder, 'out.log'), join(folder, 'in/link.log')),
    code: 'ELOOP',
  },
  {
    name: 'the folder is a symbolic link that leads out',
    path: 'in/way/audit.log',
    prepare: (folder: string) => symlink(folder, join(folder, 'in/way')),
    code: 'EACCES',
  },
  { name: 'the path leads out', path: 'in/../out.log', prepare: async () => {}, code: 'EACCES' },
  {
    name: 'the path is a folder',
    path: 'in/folder',
    prepare: (folder: string) => mkdir(join(folder, 'in/folder')),
    code: 'EISDIR',
  },
])('nothing is written if $name', async ({ path, prepare, code }) => {
  await using fixture = await deviceFixture()
  await mkdir(fixture.file('in'))
  await prepare(fixture.folder)

  const device = await fixture.open({
    target: { path: join(fixture.folder, path), directories: [fixture.file('in')] },
  })

  await expect(device.write(entry(1))).rejects.toMatchObject({ code })
  expect(existsSync(fixture.file('out.log'))).toBe(false)
  expect(existsSync(fixture.file('audit.log'))).toBe(false)
})

test('AUDIT_SYNC=always writes the same chain', async () => {
  await using fixture = await deviceFixture()
  const device = await fixture.open({ sync: 'always' })

  await Promise.all([device.write(entry(1)), device.write(entry(2))])
  await device[Symbol.asyncDispose]()

  expect(await verdictOn([fixture.file('audit.log')])).toBe('intact')
})

test('a discarding device accepts lines', async () => {
  await using fixture = await deviceFixture()

  const device = await fixture.open({ target: { kind: 'discard' } })

  await expect(device.write(entry(1))).resolves.toBeUndefined()
})

async function readSome(reader: Awaited<ReturnType<typeof open>>): Promise<string> {
  try {
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(65_536))
    return buffer.toString('utf8', 0, bytesRead)
  } catch {
    // nothing to read at the moment
    return ''
  }
}
