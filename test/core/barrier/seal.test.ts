import { execFileSync } from 'node:child_process'
import { chmod, open, readFile, stat, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import {
  loadSealKey,
  makeSealKeyFile,
  openBits,
  parseSealKey,
  readSealKeyFile,
} from '../../../src/core/barrier/seal.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const key = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index * 7))

test.each([
  ['hexadecimal', key.toString('hex')],
  ['upper-case hexadecimal', key.toString('hex').toUpperCase()],
  ['base64', key.toString('base64')],
  ['base64 without padding', key.toString('base64').slice(0, 43)],
  ['behind a byte order mark', `\u{feff}${key.toString('hex')}\r\n`],
  ['with white space around it', `\n ${key.toString('hex')}\r\n`],
])('a seal key is read from %s', (_, text) => {
  expect(parseSealKey(text)).toEqual(key)
})

test.each([
  ['nothing', ''],
  ['31 bytes', key.subarray(1).toString('hex')],
  ['33 bytes', `${key.toString('hex')}00`],
  ['base64 of 31 bytes', key.subarray(1).toString('base64')],
  ['base64url', Buffer.alloc(32, 0xff).toString('base64url')],
  ['white space inside', key.toString('hex').replace(/^(.{32})/, '$1 ')],
  ['raw bytes', 'x'.repeat(32)],
  ['two keys', `${key.toString('hex')}\n${key.toString('hex')}`],
])('no seal key is read from %s', (_, text) => {
  expect(parseSealKey(text)).toBeUndefined()
})

describe('a seal key file', () => {
  test('is created with its folder, readable only by its owner, and reads back', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('data/seal.key')

    const made = makeSealKeyFile(file)

    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(parseSealKey(await readFile(file, 'utf8'))).toEqual(made)
  })

  test('is never overwritten', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('seal.key')
    const made = makeSealKeyFile(file)

    expect(() => makeSealKeyFile(file)).toThrow(expect.objectContaining({ code: 'EEXIST' }))

    expect(parseSealKey(await readFile(file, 'utf8'))).toEqual(made)
  })
})

test('a seal key arrives in parts through a pipe', async () => {
  await using folder = await temporaryFolder()
  const pipe = folder.file('pipe')
  execFileSync('mkfifo', ['-m', '600', pipe])
  const text = key.toString('base64')

  const reading = readSealKeyFile(pipe)
  await using writing = await open(pipe, 'w')
  await writing.write(text.slice(0, 10))
  await writing.write(text.slice(10))
  await writing.close()

  expect(await reading).toEqual(key)
})

test('a seal key file may not be longer than 4 KiB', async () => {
  await using folder = await temporaryFolder()
  const file = folder.file('seal.key')
  await writeFile(file, `${key.toString('hex')}${' '.repeat(4_096)}`, { mode: 0o600 })

  await expect(readSealKeyFile(file)).rejects.toMatchObject({
    message: `seal key file ${file} does not hold 32 bytes as hex or base64`,
  })
})

describe('a seal key file that users other than its owner can use', () => {
  const aKeyFile = async (mode: number) => {
    const folder = await temporaryFolder()
    const file = folder.file('seal.key')
    await writeFile(file, key.toString('hex'))
    await chmod(file, mode)
    return { file, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
  }

  test.each([0o644, 0o640, 0o604, 0o620, 0o602, 0o444])(
    'is refused with exit code 5: mode %o',
    async (mode) => {
      await using made = await aKeyFile(mode)

      await expect(readSealKeyFile(made.file)).rejects.toMatchObject({
        exitCode: 5,
        message: `seal key file ${made.file} is open to others (mode 0${mode.toString(8)}): run chmod 600 ${made.file}, or set GATEHOUSE_ALLOW_OPEN_KEY_FILE=true`,
      })
      await expect(loadSealKey({ file: made.file, mayCreate: false })).rejects.toMatchObject({ exitCode: 5 })
    },
  )

  test.each([0o600, 0o400])('is read if only its owner can use it: mode %o', async (mode) => {
    await using made = await aKeyFile(mode)

    expect(await readSealKeyFile(made.file)).toEqual(key)
  })

  test('is read where the operator allows it', async () => {
    await using made = await aKeyFile(0o644)

    expect(await readSealKeyFile(made.file, { allowOpen: true })).toEqual(key)
    expect(await loadSealKey({ file: made.file, mayCreate: false, allowOpen: true })).toEqual({
      key,
      made: false,
    })
  })

  // as an orchestrator mounts a secret, and as a package installs a file for a service
  test.each([0o440, 0o640])(
    "is accepted if root owns it and only the service's group may read it: mode %o",
    (mode) => {
      expect(openBits({ mode, uid: 0 }, 1000)).toBe(0)
      expect(openBits({ mode: mode | 0o004, uid: 0 }, 1000)).toBe(0o004)
      expect(openBits({ mode: mode | 0o020, uid: 0 }, 1000)).toBe(0o020)
      expect(openBits({ mode, uid: 1001 }, 1000)).toBe(0o040)
      expect(openBits({ mode, uid: 0 }, 0)).toBe(0o040)
    },
  )
})

describe('at start', () => {
  test('an empty store without a file gets a new key', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('seal.key')

    const loaded = await loadSealKey({ file, mayCreate: true })

    expect(loaded.made).toBe(true)
    expect(parseSealKey(await readFile(file, 'utf8'))).toEqual(loaded.key)
  })

  test.each([true, false])('an existing file is used (empty store: %s)', async (mayCreate) => {
    await using folder = await temporaryFolder()
    const file = folder.file('seal.key')
    await writeFile(file, key.toString('base64'), { mode: 0o600 })

    expect(await loadSealKey({ file, mayCreate })).toEqual({ key, made: false })
  })

  test('a store without its file is refused with exit code 5, and no file is created', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('seal.key')

    await expect(loadSealKey({ file, mayCreate: false })).rejects.toMatchObject({
      exitCode: 5,
      message: `seal key file ${file} is missing`,
    })

    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test.each([true, false])(
    'a file without a key is refused with exit code 5 and left alone (empty store: %s)',
    async (mayCreate) => {
      await using folder = await temporaryFolder()
      const file = folder.file('seal.key')
      await writeFile(file, 'no key', { mode: 0o600 })

      await expect(loadSealKey({ file, mayCreate })).rejects.toMatchObject({
        exitCode: 5,
        message: `seal key file ${file} does not hold 32 bytes as hex or base64`,
      })

      expect(await readFile(file, 'utf8')).toBe('no key')
    },
  )

  test('a key in the settings takes precedence over the file, which is not created', async () => {
    await using folder = await temporaryFolder()
    const file = folder.file('seal.key')

    expect(await loadSealKey({ text: key.toString('hex'), file, mayCreate: true })).toEqual({
      key,
      made: false,
    })

    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a wrong key in the settings is refused with exit code 2 and not repeated', async () => {
    await using folder = await temporaryFolder()
    const refused = loadSealKey({ text: 'hunter2', file: folder.file('seal.key'), mayCreate: true })

    await expect(refused).rejects.toMatchObject({
      exitCode: 2,
      message: 'GATEHOUSE_SEAL_KEY must be 32 bytes as hex or base64',
    })
  })
})
