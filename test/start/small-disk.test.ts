import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { runCommand } from '../support/process.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const disk = mountSmallDisk('12m')
afterAll(() => disk?.[Symbol.dispose]())

const large = { text: 'x'.repeat(600_000) }

describe.skipIf(disk === undefined)('on a small disk (needs the right to mount one)', () => {
  const file = join(disk?.path ?? '', 'gatehouse.db')
  const settings = { STORAGE: `sqlite:${file}`, SEAL_KEY: 'ab'.repeat(32), BACKGROUND: 'off' }
  const start = () => startTestServer({ settings })
  const onDisk = (name: string) => join(disk?.path ?? '', name)
  const filler = () => writeFile(onDisk('filler'), Buffer.alloc(4_000_000))

  /** Writes until the disk is full; returns the names of what was stored, and the refusal. */
  async function fill(server: TestServer) {
    const stored: string[] = []
    for (let index = 0; ; index++) {
      const answer = await server.root.write(`cubbyhole/${index}`, large)
      if (answer.status !== 204) return { stored, answer }
      stored.push(`${index}`)
    }
  }

  test('a full disk refuses writes with its reason and serves reads, and room is enough to recover', async () => {
    await filler()
    await using server = await start()

    const { stored, answer } = await fill(server)
    const kept = await server.root.list('cubbyhole')
    const read = await server.root.read(`cubbyhole/${stored[0]}`)
    const ready = await server.anonymous.read('/health/ready')
    await rm(onDisk('filler'))
    const after = await server.root.write('cubbyhole/after', large)
    await server[Symbol.asyncDispose]()
    await using next = await start()
    const later = await next.root.list('cubbyhole')

    expect(stored.length).toBeGreaterThan(0)
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '10'])
    expect(answer.body['errors']).toEqual([expect.stringContaining('storage is full')])
    expect(kept.body.data?.['keys']).toEqual(stored.toSorted())
    expect([read.status, ready.status, after.status]).toEqual([200, 200, 204])
    expect(later.body.data?.['keys']).toEqual([...stored, 'after'].toSorted())
    for (const name of [...stored, 'after']) await next.root.delete(`cubbyhole/${name}`)
  })

  test('a server does not start on a read-only disk, and does once it can be written', async () => {
    const server = await start()
    await server.root.write('sys/policies/acl/kept', { policy: '# kept' })
    await server[Symbol.asyncDispose]()
    disk?.setReadOnly(true)

    const refused = await start().catch((error: unknown) => error)
    disk?.setReadOnly(false)
    await using next = await start()

    expect(refused).toMatchObject({
      exitCode: 2,
      message: `cannot open ${file}: EROFS: the file system is read-only`,
    })
    expect((await next.root.read('sys/policies/acl/kept')).status).toBe(200)
  })

  test('a backup, a snapshot and a restoration without room fail in one line and leave nothing', async () => {
    await using folder = await temporaryFolder()
    await using server = await start()
    await server.root.write('cubbyhole/large', large)
    const command = (name: string, ...args: string[]) =>
      runCommand(name, { folder: folder.path, args, settings })
    const whole = await command('backup', 'b')
    await fill(server)
    const before = (await readdir(disk?.path ?? '')).filter((name) => !/-(?:wal|shm)$/.test(name))

    const backup = await command('backup', onDisk('backup'))
    const snapshot = await server.root.read('sys/storage/snapshot')
    await server[Symbol.asyncDispose]()
    await writeFile(onDisk('filler'), Buffer.alloc(12_000_000)).catch(() => {})
    const restored = await command('restore', 'b', '--force')
    const after = (await readdir(disk?.path ?? '')).filter((name) => !/-(?:wal|shm)$/.test(name))
    await rm(onDisk('filler'))
    await using next = await start()

    expect(whole.code).toBe(0)
    expect([backup.code, backup.stderr]).toEqual([
      1,
      `cannot back up ${file} to ${onDisk('backup')}: database or disk is full\n`,
    ])
    expect([snapshot.status, snapshot.body['errors']]).toEqual([
      503,
      ['storage is full: there is no room for a snapshot beside the database'],
    ])
    expect([restored.code, restored.stderr]).toEqual([
      1,
      `cannot restore b to ${file}: ENOSPC: no space left on device, write\n`,
    ])
    expect(after.filter((name) => name !== 'filler')).toEqual(before)
    expect((await next.root.read('cubbyhole/large')).status).toBe(200)
  })
})
