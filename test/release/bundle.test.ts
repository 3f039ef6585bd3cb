import { execFile } from 'node:child_process'
import { readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
  const write = async (file: string, text: string, age: number) => {
    await writeFile(file, text)
    // a file that changes while a bundle begins counts as changed
    await utimes(file, Date.now() / 1000 - age, Date.now() / 1000 - age)
  }
  await write(programs.said, `import { word } from './word.ts'\nconsole.log(word)\n`, 60)
  await write(folder.file('word.ts'), `export const word: string = 'first'\n`, 60)

  const before = isCurrent(task.folder, programs)
  await bundle(task)
  const first = [isCurrent(task.folder, programs), await output()]
  await write(folder.file('word.ts'), `export const word: string = 'second'\n`, 30)
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

test('a bundle is ASCII: otherwise the engine keeps two bytes for each of its characters', async () => {
  await using folder = await temporaryFolder()
  const programs = { said: folder.file('said.ts') }
  await writeFile(programs.said, '/*! Zoë – MIT */\nconsole.log("ß – 𝄞", /^[–𝄞]$/u.test(`𝄞`))\n')

  await bundle({ folder: folder.file('bundle'), programs })

  const text = await readFile(folder.file('bundle/said.js'))
  expect(text.every((byte) => byte < 0x80)).toBe(true)
  expect(text.toString()).toContain('/*! Zoe  MIT */')
  const { stdout } = await promisify(execFile)(process.execPath, [folder.file('bundle/said.js')])
  expect(stdout).toBe('ß – 𝄞 true\n')
})

test('a bundle is made in any folder', async () => {
  await using folder = await temporaryFolder()
  const said = folder.file('said.ts')
  const headers = `var headers = { 'content-type': 'a/b', 'content-length': '1' }\n`
  await writeFile(said, `import typeIs from 'type-is'\n${headers}console.log(typeIs({ headers }, ['a/*']))\n`)
  const module = JSON.stringify(join(import.meta.dirname, '../../release/bundle.ts'))
  const task = JSON.stringify({ folder: folder.file('bundle'), programs: { said } })
  const run = promisify(execFile)
  const script = `import { bundle } from ${module}\nawait bundle(${task})`

  const made = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder.path })

  expect(made).toEqual({ stdout: '', stderr: '' })
  expect((await run(process.execPath, [folder.file('bundle/said.js')])).stdout).toBe('a/b\n')
})
