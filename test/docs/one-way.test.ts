import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const project = join(import.meta.dirname, '../..')

/** The files of the server whose text matches. */
const filesWith = (text: RegExp): string[] =>
  globSync('src/**/*.ts', { cwd: project })
    .filter((path) => text.test(readFileSync(join(project, path), 'utf8')))
    .toSorted()

test('there is one way to run work on a thread', () => {
  expect(filesWith(/new Worker\(/)).toEqual(['src/lib/concurrency/thread.ts'])
})

/** Files that wait for the next turn of the event loop themselves, each for a reason that its code states. */
const yieldingFiles = [
  'src/lib/data/pages.ts',
  'src/storage/postgres/group-writer.ts',
  'src/http/wire/listener.ts',
  'src/process/exit.ts',
  'src/process/run.ts',
]

test('loops give way to other requests in one place: docs/architecture.md#long-loops', () => {
  const yielding = filesWith(/\bsetImmediate as \w+|await setImmediate\(|new Promise.*\bsetImmediate\(/)

  expect(yielding).toEqual(yieldingFiles.toSorted())
})
