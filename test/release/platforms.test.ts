import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { platforms } from '../../release/platforms.ts'

test('there is a Node for each platform in the lock file, and the libraries of SQLite and bcrypt', async () => {
  const project = join(import.meta.dirname, '../..')
  const { packages } = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  const versions = platforms.map(({ nodePackage }) => packages[`node_modules/${nodePackage}`]?.version)
  const libraries = platforms.flatMap(({ library, passwordLibrary }) => [
    join(project, 'node_modules/better-sqlite3/prebuilds', library),
    join(project, 'node_modules/bcrypt/prebuilds', passwordLibrary),
  ])

  expect(versions).toEqual(platforms.map(() => process.versions.node))
  expect(libraries.filter((library) => !existsSync(library))).toEqual([])
})
