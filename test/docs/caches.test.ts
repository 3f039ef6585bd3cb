import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const project = join(import.meta.dirname, '../..')
const made = /new Cache\b(?:<[^()]*>)?\(\{\s*name: '([^']+)',\s*most: ([\d_]+)/g

/** The names of the caches in a source, each with the most values that it may have. */
const cachesIn = (source: string): string[] =>
  [...source.matchAll(made)].map(([, name, most]) => `${name}: ${Number(most?.replaceAll('_', ''))}`)

const sources = globSync('src/**/*.ts', { cwd: project }).map((path) =>
  readFileSync(join(project, path), 'utf8'),
)
const page = readFileSync(join(project, 'docs/architecture.md'), 'utf8')
const [, section = ''] = /\n## Caches\n(.*?)\n## /s.exec(page) ?? []
const rows = section.split('\n').filter((line) => line.startsWith('| '))

test('each cache states its name and how many values it may have', () => {
  const count = (source: string) => source.match(/new Cache\b/g)?.length ?? 0

  expect(sources.reduce((sum, source) => sum + count(source), 0)).toBeGreaterThan(20)
  expect(sources.filter((source) => count(source) !== cachesIn(source).length)).toEqual([])
})

test('the table of caches lists each cache with its bound, and no other', () => {
  const listed = rows.slice(1).map((row) => {
    const [name = '', , bound = ''] = row.slice(2).split(' | ')
    const [most = ''] = /[\d,]*\d/.exec(bound) ?? []
    return `${name}: ${Number(most.replaceAll(',', ''))}`
  })

  expect(listed.toSorted()).toEqual(sources.flatMap(cachesIn).toSorted())
})

test('no other code keeps copies by how recently they were used', () => {
  expect(sources.filter((source) => /lru-cache|LRU/.test(source))).toEqual([])
})
