import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const project = join(import.meta.dirname, '../..')
const page = readFileSync(join(project, 'docs/threat-model.md'), 'utf8')

/** The rows of the table in a section. */
function rowsOf(heading: string): string[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) => line.slice(2, -2).split(' | '))
}

const shown = rowsOf('Which test shows it').map(([who = '', promise = '', cited = '']) => {
  const [, file = '', name = ''] = /^`(test\/[\w/-]+\.test\.ts)`: (.+)$/.exec(cited) ?? []
  return { who, promise, file, name }
})

test('each test that the threat model cites exists', () => {
  const missing = shown.filter(({ file, name }) => {
    if (!existsSync(join(project, file)) || name === '') return true
    const source = readFileSync(join(project, file), 'utf8').replaceAll("\\'", "'")
    return !["'", '"', '`'].some((quote) => source.includes(quote + name + quote))
  })

  expect(shown.length).toBeGreaterThan(40)
  expect(missing).toEqual([])
})

test('each line of the threat model has a test, and each test a line', () => {
  const lines = rowsOf('From whom').map(([who]) => who)

  expect(lines.length).toBeGreaterThan(20)
  expect(new Set(shown.map(({ who }) => who))).toEqual(new Set(lines))
})
