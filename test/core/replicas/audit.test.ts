import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSharedCores, type SharedCore } from '../../support/shared-cores.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Two servers, which write their files into folders that they may have in common. */
async function openServers(folders: (root: string) => readonly [string, string] = (root) => [root, root]) {
  await using opened = new AsyncDisposableStack()
  const root = opened.use(await temporaryFolder()).path
  const servers = opened.use(
    await openSharedCores((number) => ({
      audit: {
        fixed: [],
        isOpenToApi: true,
        version: '',
        sync: 'interval',
        replica: `server-${number + 1}`,
        limits: { directories: [folders(root)[number] ?? ''], hosts: [], worker: number + 1 },
      },
    })),
  )
  const held = opened.move()
  return { root, ...servers, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const described = (path: string, file_path: string) => ({
  path,
  type: 'file',
  description: '',
  options: { file_path },
  local: false,
})
const write = ({ audit }: SharedCore) => audit.log.write(async () => '{"time":"x"}')
const paths = ({ audit }: SharedCore) => audit.log.devices.map(({ description: { path } }) => path)
const lines = async (file: string) => (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')

test('a device that one server enables writes a chain of its own on the other, until one disables it', async () => {
  await using servers = await openServers()
  const { one, other, root } = servers
  await one.audit.log.enable(described('file/', join(root, 'audit.log')))
  await other.hear()
  await one.hear()

  await write(one)
  await write(other)
  const hash = other.audit.log.hashOf('file/', 'text')
  expect(hash).toBe(one.audit.log.hashOf('file/', 'text'))
  await other.audit.log.disable('file/')
  await one.hear()

  expect([one.audit.log.isOn, other.audit.log.isOn]).toEqual([false, false])
  await expect
    .poll(() => lines(join(root, 'audit-1.log')))
    .toEqual(expect.arrayContaining([expect.stringContaining('"event":"close"')]))
  const [first, second] = await Promise.all([1, 2].map((number) => lines(join(root, `audit-${number}.log`))))
  const idOf = (all: readonly string[] = []) =>
    new Set(all.map((line) => /"chain":\{"id":"(\w+)"/.exec(line)?.[1]))
  expect(idOf(first).size).toBe(1)
  expect(idOf(second).size).toBe(1)
  expect(idOf(first)).not.toEqual(idOf(second))
  await expect.poll(() => one.audit.chains.heads()).toEqual([])
})

test('a device that a server cannot open stops this server only', async () => {
  await using servers = await openServers((root) => [join(root, 'a'), join(root, 'b')])
  const { one, other, root } = servers
  await one.audit.log.enable(described('file/', join(root, 'a', 'audit.log')))

  await other.hear()

  expect([one.audit.log.isUp, other.audit.log.isUp]).toEqual([true, false])
  await write(one)
  await expect(write(other)).rejects.toMatchObject({ kind: 'unrecorded' })
  await one.audit.log.enable(described('none/', 'discard'))
  await other.hear()
  await write(other)
  expect(paths(other)).toEqual(['file/', 'none/'])
})

test('of two servers that enable devices with overlapping paths, one is refused', async () => {
  await using servers = await openServers()
  const { one, other } = servers

  const results = await Promise.allSettled([
    one.audit.log.enable(described('a/', 'discard')),
    other.audit.log.enable(described('a/b/', 'discard')),
  ])
  await one.hear()
  await other.hear()

  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(paths(one)).toEqual(paths(other))
})

test('a device that was replaced has its new salt on every server', async () => {
  await using servers = await openServers()
  const { one, other } = servers
  await one.audit.log.enable(described('a/', 'discard'))
  await other.hear()
  const before = other.audit.log.hashOf('a/', 'text')

  await one.audit.log.disable('a/')
  await one.audit.log.enable(described('a/', 'discard'))
  await other.hear()

  expect(other.audit.log.hashOf('a/', 'text')).toBe(one.audit.log.hashOf('a/', 'text'))
  expect(other.audit.log.hashOf('a/', 'text')).not.toBe(before)
})

test('request headers that two servers register at the same time are all shown by both', async () => {
  await using servers = await openServers()
  const { one, other } = servers

  await Promise.all([one.audit.headers.put('X-A', true), other.audit.headers.put('X-B', false)])
  await one.hear()
  await other.hear()

  expect(one.audit.headers.all).toEqual({ 'x-a': { hmac: true }, 'x-b': { hmac: false } })
  expect(other.audit.headers.all).toEqual(one.audit.headers.all)
})

test('a new key signs the checkpoints of every server', async () => {
  await using servers = await openServers()
  const { one, other } = servers
  await one.audit.log.enable(described('a/', 'discard'))
  await other.hear()

  await one.audit.chains.rotate()
  await other.hear()

  expect(other.audit.chains.keys).toEqual(one.audit.chains.keys)
  expect(other.audit.chains.sign('text')).toEqual(one.audit.chains.sign('text'))
  expect(other.audit.chains.keys.at(-1)?.key_id).toBe(other.audit.chains.sign('text').key_id)
})
