import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tableVisits } from './table-visits.ts'

/** The names of all tables and lists in the sources. */
async function namesInSources(): Promise<string[]> {
  const folder = join(import.meta.dirname, '../../ui/src')
  const files = await Array.fromAsync(glob('**/*.tsx', { cwd: folder }))
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return texts
    .flatMap((text) => [...text.matchAll(/<(?:Table\s+(?:name="([\w-]+)")?|List\s+name="([\w-]+)")/g)])
    .map(([tag, table, list]) => table ?? list ?? tag)
    .toSorted()
}

test('tables.test.ts visits every table and list', async () => {
  const visited = new Set(tableVisits('id', async () => {}).map(({ table }) => table))

  expect([...visited].toSorted()).toEqual(await namesInSources())
})
