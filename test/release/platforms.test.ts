import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { buildExecutables } from '../../release/executable.ts'
import { platforms, platformsNamed } from '../../release/platforms.ts'
import { outcomeOf } from '../deploy/tools.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const emulator = '/usr/bin/qemu-aarch64'
const libraries = '/usr/aarch64-linux-gnu'
const cannotRun = !existsSync(emulator) || !existsSync(join(libraries, 'lib/libatomic.so.1'))
/** In a header of ELF. */
const aarch64 = 183

test('a release is made for each of the platforms, and for no other', () => {
  expect(platformsNamed('all')).toEqual(platforms)
  expect(platformsNamed('win-x64,linux-arm64').map(({ name }) => name)).toEqual(['win-x64', 'linux-arm64'])
  expect(() => platformsNamed('linux-s390x')).toThrow(
    'choose from linux-x64, linux-arm64, darwin-x64, darwin-arm64, win-x64, or all',
  )
})

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

test.skipIf(cannotRun && process.env['CI'] !== 'true')(
  'the executable of another platform is made for its processor, and runs there',
  { timeout: 120_000 },
  async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse')
    new Database(folder.file('empty.db')).exec('CREATE TABLE t (x)').close()
    const run = (...args: string[]) =>
      outcomeOf(emulator, ['-L', libraries, path, ...args], { cwd: folder.path })

    await buildExecutables(platformsNamed('linux-arm64').map((platform) => ({ platform, path })))
    const head = (await readFile(path)).subarray(0, 20)
    const version = await run('--version')
    const verified = await run('verify', 'empty.db')

    expect([head.toString('latin1', 1, 4), head.readUInt16LE(18)]).toEqual(['ELF', aarch64])
    expect(version.stdout).toBe(`Gatehouse ${productVersion} (Node ${process.versions.node})\n`)
    // said by its SQLite
    expect(verified.output).toBe('cannot verify empty.db: no such table: records\n')
  },
)
