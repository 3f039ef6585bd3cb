import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { commandHere } from '../support/command-here.ts'
import { type RefusedStart, refusedStart, startInFolder } from '../support/folder-server.ts'
import { keyKeeper } from '../support/key-keeper.ts'
import { runCommand } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a first start has its key wrapped, a restart has it unwrapped, and no file holds it', async () => {
  await using folder = await temporaryFolder()
  const settings = await keyKeeper(folder.path)
  await using first = await startInFolder({ folder: folder.path, settings })
  const root = first.as(first.rootToken)
  await root.write('cubbyhole/a', { b: 'c' })
  const status = await first.anonymous.read('sys/seal-status')
  const rotated = await root.write('sys/rotate/root', {})
  const rekey = await root.write('sys/rekey/init', { secret_shares: 1, secret_threshold: 1 })
  const recovery = await root.write('sys/rekey-recovery-key/init', { secret_shares: 3, secret_threshold: 2 })
  await first.stop()
  const verified = await commandHere('verify', { folder: folder.path, settings })

  await using again = await startInFolder({ folder: folder.path, settings })
  const kept = await again.as(first.rootToken).read('cubbyhole/a')
  const later = await again.anonymous.read('sys/seal-status')

  expect(status.body).toMatchObject({ type: 'command', sealed: false, t: 0, n: 0, recovery_seal: true })
  expect(rotated.status).toBe(204)
  expect(rekey.body.errors).toEqual(['rekey is not available with seal type command'])
  expect(recovery.status).toBe(200)
  expect(later.body).toMatchObject({ type: 'command', sealed: false, t: 2, n: 3 })
  expect(kept.body.data).toEqual({ b: 'c' })
  expect(verified.stdout).toContain('every seal opened')
  await expect(readFile(folder.file('data/seal.key'))).rejects.toThrow('ENOENT')
})

test('sys/init makes a store with a command, too', async () => {
  await using folder = await temporaryFolder()
  const settings = { ...(await keyKeeper(folder.path)), AUTO_INIT: 'false' }
  await using server = await startInFolder({ folder: folder.path, settings })

  const made = await server.anonymous.write('sys/init', { recovery_shares: 1, recovery_threshold: 1 })
  const self = await server.as(String(made.body['root_token'])).read('auth/token/lookup-self')
  await server.stop()
  await using again = await startInFolder({ folder: folder.path, settings })

  expect([made.body['keys'], self.status]).toEqual([[], 200])
  expect((await again.anonymous.read('sys/seal-status')).body).toMatchObject({ sealed: false, n: 1 })
})

type Case = { name: string; change: Record<string, string>; refusal: Partial<RefusedStart> }
const failures: Case[] = [
  {
    name: 'a wrap command that fails',
    change: { SEAL_WRAP_COMMAND: 'echo no such key ring >&2; exit 3' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_WRAP_COMMAND ended with exit code 3: no such key ring' },
  },
  {
    name: 'a wrap command that repeats the key in its complaint',
    change: { SEAL_WRAP_COMMAND: 'cat >&2; exit 3' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_WRAP_COMMAND ended with exit code 3' },
  },
  {
    name: 'a wrap command that does not wrap',
    change: { SEAL_WRAP_COMMAND: 'cat', SEAL_UNWRAP_COMMAND: 'cat' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_WRAP_COMMAND printed the key as it was' },
  },
  {
    name: 'a wrap command that prints nothing',
    change: { SEAL_WRAP_COMMAND: 'cat >/dev/null' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_WRAP_COMMAND printed nothing' },
  },
  {
    name: 'a wrap command that prints without end',
    change: { SEAL_WRAP_COMMAND: 'yes' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_WRAP_COMMAND printed more than 65536 bytes' },
  },
  {
    name: 'an unwrap command that prints no key',
    change: { SEAL_UNWRAP_COMMAND: 'cat' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_UNWRAP_COMMAND did not print 32 bytes as hex or base64' },
  },
  {
    name: 'an unwrap command that prints another key',
    change: { SEAL_UNWRAP_COMMAND: `echo ${'ab'.repeat(32)}` },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_UNWRAP_COMMAND printed another key' },
  },
  {
    name: 'a command that hangs, with what it started',
    change: { SEAL_WRAP_COMMAND: 'sleep 600 & sleep 600', SEAL_COMMAND_TIMEOUT: '50ms' },
    refusal: { code: 5, message: 'GATEHOUSE_SEAL_WRAP_COMMAND took longer than 50 ms' },
  },
]

test('a command that fails ends the first start with the reason, and leaves no store', async () => {
  await using folder = await temporaryFolder()
  const settings = await keyKeeper(folder.path)

  for (const { name, change, refusal } of failures) {
    const refused = await refusedStart({ folder: folder.path, settings: { ...settings, ...change } })
    expect(refused, name).toMatchObject(refusal)
  }
  await using after = await startInFolder({ folder: folder.path, settings })

  expect(after.rootToken).not.toBe('')
})

test('a store does not open without the keeper of its key, or under another type of seal', async () => {
  await using folder = await temporaryFolder()
  const settings = await keyKeeper(folder.path)
  await using first = await startInFolder({ folder: folder.path, settings })
  await first.stop()
  const other = await refusedStart({ folder: folder.path })
  await writeFile(folder.file('identity'), 'another key')
  const without = await refusedStart({ folder: folder.path, settings })

  expect(other.message).toBe('GATEHOUSE_SEAL: the seal of this store is command, not static')
  expect([without.code, without.message]).toEqual([
    5,
    expect.stringContaining('GATEHOUSE_SEAL_UNWRAP_COMMAND ended with exit code 1'),
  ])
})

test('a command sees no setting of the server, and no key on a command line', async () => {
  await using folder = await temporaryFolder()
  const settings = await keyKeeper(folder.path)
  const seen = folder.file('environment')
  const SEAL_WRAP_COMMAND = `env > '${seen}'; ${settings.SEAL_WRAP_COMMAND}`
  const started = await runCommand('seal-migrate', {
    folder: folder.path,
    args: ['--to', 'command'],
    settings: { ...settings, SEAL_WRAP_COMMAND, SEAL: 'static' },
  })
  expect(started.stderr).toBe('cannot open data/gatehouse.db: ENOENT\n')

  await using server = await startInFolder({ folder: folder.path })
  await server.stop()
  const migrated = await runCommand('seal-migrate', {
    folder: folder.path,
    args: ['--to', 'command'],
    settings: { ...settings, SEAL_WRAP_COMMAND, SEAL: 'static' },
  })

  expect([migrated.code, migrated.stderr]).toEqual([0, ''])
  expect(await readFile(seen, 'utf8')).not.toMatch(/GATEHOUSE_|[0-9a-f]{64}/)
})
