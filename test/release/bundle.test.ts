import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { bundle } from '../../release/bundle.ts'
import { isCurrent } from '../../release/sources.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a bundle is current until one of its sources changes, and then shows the change', async () => {
  await using folder = await temporaryFolder()
  const programs = { said: folder.file('said.ts') }
  const task = { folder: folder.file('bundle'), programs }
  const output = async () =>
    (await promisify(execFile)(process.execPath, [folder.file('bundle/said.js')])).stdout
  await writeFile(programs.said, `import { word } from './word.ts'\nconsole.log(word)\n`)
  await writeFile(folder.file('word.ts'), `export const word: string = 'first'\n`)

  const before = isCurrent(task.folder, programs)
  await bundle(task)
  const first = [isCurrent(task.folder, programs), await output()]
  await writeFile(folder.file('word.ts'), `export const word: string = 'second'\n`)
  const changed = isCurrent(task.folder, programs)
  await bundle(task)
  const second = [isCurrent(task.folder, programs), await output()]
  await rm(folder.file('word.ts'))
  const removed = isCurrent(task.folder, programs)

  expect([before, first, changed, second, removed]).toEqual([
    false,
    [true, 'first\n'],
    false,
    [true, 'second\n'],
    false,
  ])
  expect(isCurrent(task.folder, { said: programs.said, other: programs.said })).toBe(false)
})
