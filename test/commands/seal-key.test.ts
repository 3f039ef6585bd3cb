import { readFile, stat, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { commandHere } from '../support/command-here.ts'
import { startInFolder } from '../support/folder-server.ts'
import { runCommand } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const sealKey = (folder: string, ...args: string[]) => commandHere('seal-key', { folder, args })

test('seal:key creates a key that only its owner can read, and with which a server starts', async () => {
  await using folder = await temporaryFolder()

  const made = await runCommand('seal-key', { folder: folder.path, args: ['keys/new.key'] })
  await using server = await startInFolder({
    folder: folder.path,
    settings: { SEAL_KEY_FILE: folder.file('keys/new.key'), AUTO_INIT: 'false' },
  })
  const init = await server.anonymous.write('sys/init', {})
  const self = await server.as(String(init.body['root_token'])).read('auth/token/lookup-self')

  expect(made).toEqual({ code: 0, stdout: 'Seal key written to keys/new.key\n', stderr: '' })
  expect((await stat(folder.file('keys/new.key'))).mode & 0o777).toBe(0o600)
  expect(self.status).toBe(200)
})

test('seal:key never overwrites', async () => {
  await using folder = await temporaryFolder()
  await writeFile(folder.file('old.key'), 'precious')

  const refused = await sealKey(folder.path, 'old.key')

  expect(refused).toEqual({ code: 1, stdout: '', stderr: 'old.key already exists; not overwritten\n' })
  expect(await readFile(folder.file('old.key'), 'utf8')).toBe('precious')
})

test.each([{ args: [] }, { args: ['a', 'b'] }, { args: ['--out'] }])(
  'seal:key $args is a usage error',
  async ({ args }) => {
    await using folder = await temporaryFolder()

    const refused = await sealKey(folder.path, ...args)

    expect(refused).toEqual({ code: 2, stdout: '', stderr: 'usage: gatehouse seal-key FILE\n' })
  },
)

test('seal:key fails where no file can be written', async () => {
  await using folder = await temporaryFolder()
  const name = 'k'.repeat(300)

  const refused = await sealKey(folder.path, name)

  expect(refused).toEqual({ code: 1, stdout: '', stderr: `cannot write ${name}: ENAMETOOLONG\n` })
})
