import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { settingsFileOf } from '../../src/process/settings-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('what the process was given otherwise has precedence over the file, also when the file changes', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('settings')
  writeFileSync(path, 'IN_FILE=1\nREMOVED=1\nIN_BOTH=file')
  const atStart = { IN_FILE: '1', REMOVED: '1', IN_BOTH: 'process', OWN: 'process' }
  const file = settingsFileOf(['--expose-gc', `--env-file=${path}`], atStart)

  writeFileSync(path, 'IN_FILE=2\nADDED="two words"\nIN_BOTH=changed\nOWN=changed')

  expect(file?.read()).toEqual({
    IN_FILE: '2',
    REMOVED: undefined,
    ADDED: 'two words',
    IN_BOTH: 'process',
    OWN: 'process',
  })
})

test('a file that is gone is an error that names it', async () => {
  await using folder = await temporaryFolder()
  const path = folder.file('settings')
  writeFileSync(path, '')
  const file = settingsFileOf(['--env-file', path], {})

  unlinkSync(path)

  expect(() => file?.read()).toThrow(`cannot read the settings in ${path}: ENOENT`)
})

test('without a settings file, nothing is read again', async () => {
  await using folder = await temporaryFolder()
  mkdirSync(folder.file('folder'))

  expect(settingsFileOf(['--expose-gc'], {})).toBeUndefined()
  expect(settingsFileOf([`--env-file-if-exists=${folder.file('none')}`], {})).toBeUndefined()
  expect(settingsFileOf([`--env-file=${folder.file('folder')}`], {})).toBeUndefined()
})
