import { globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const page = read('docs/architecture.md')

/** The rows of the table with this heading, without heading and rule. */
function tableRows(heading: string): string[][] {
  const [, rows = ''] = page.split(`\n${heading}\n`)
  return (rows.match(/^(?:\|.*\n)+/)?.[0] ?? '')
    .trim()
    .split('\n')
    .slice(1)
    .map((row) => row.split('|').slice(1, -1))
}

const namesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

const isIn = (file: string, place: string) => matchesGlob(file, place) || matchesGlob(file, `${place}/**`)

const folders = tableRows('| folder | contains | may import |').flatMap(([places, , targets = '']) =>
  namesIn(places).map((place) => ({ place, targets: namesIn(targets) })),
)
const packages = tableRows('| package | only in |').flatMap(([names, places]) =>
  namesIn(names).map((name) => ({ name, places: namesIn(places) })),
)

/** What the file imports, type imports included: our files from the root on, packages by name. */
function importsOf(file: string): string[] {
  const specifiers = read(file).matchAll(/(?:\bfrom |\bimport\(|\bimport |new URL\()'([^']+)'/g)
  return [...specifiers].map(([, name = '']) =>
    name.startsWith('.') ? normalize(join(dirname(file), name)) : name,
  )
}

/** The part of the path that the folder's name in the table covers: `src/plugins/*` is one plugin. */
const ownPart = (file: string, place: string) => file.split('/').slice(0, place.split('/').length).join('/')

function isAllowed(file: string, target: string): boolean {
  const rule = packages.find(({ name }) => isIn(target, name))
  if (rule !== undefined) return rule.places.some((place) => isIn(file, place))
  if (!/^(?:src|simulators|bench|release|test|ui)\//.test(target)) return true
  const row = folders.findLast(({ place }) => isIn(file, place))
  if (row === undefined) return false
  return isIn(target, ownPart(file, row.place)) || row.targets.some((place) => isIn(target, place))
}

test.each([
  ['src/lib/text/go-duration.ts', 'src/errors.ts'],
  ['src/lib/text/json.ts', 'fastify'],
  ['src/core/mounts/mount.ts', 'src/http/resource/resource.ts'],
  ['src/core/mounts/mount.ts', 'src/plugins/sys/plugin.ts'],
  ['src/core/mounts/mount.ts', 'src/storage/sqlite/sqlite.ts'],
  ['src/core/mounts/mount.ts', 'better-sqlite3'],
  ['src/http/exchange/call.ts', 'src/plugins/token/plugin.ts'],
  ['src/http/exchange/call.ts', 'src/storage/storage.ts'],
  ['src/plugins/cloud/upstream/retry.ts', 'src/plugins/jwt-auth/plugin.ts'],
  ['src/plugins/cloud/plugin.ts', 'src/http/exchange/call.ts'],
  ['src/plugins/cloud/plugin.ts', 'src/storage/storage.ts'],
  ['src/plugins/cloud/plugin.ts', 'src/config/config.ts'],
  ['src/plugins/cloud/engine.ts', '@azure/msal-node'],
  ['src/process/run.ts', 'src/storage/sqlite/sqlite.ts'],
  ['src/server/server.ts', 'test/support/client.ts'],
  ['src/server/server.ts', 'src/plugins/cloud/engine.ts'],
  ['simulators/demo.ts', 'src/server/server.ts'],
  ['simulators/demo.ts', 'bench/run.ts'],
  ['ui/src/main.tsx', 'src/errors.ts'],
  ['src/server/server.ts', 'ui/src/main.tsx'],
  ['src/server/server.ts', 'react'],
])('docs/architecture.md does not allow %s to import %s', (file, target) => {
  expect(isAllowed(file, target)).toBe(false)
})

test('src, simulators, release and ui import only what docs/architecture.md allows them to', () => {
  const files = ['src', 'simulators', 'release', 'ui'].flatMap((folder) =>
    globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }),
  )

  const forbidden = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => !isAllowed(file, target))
      .map((target) => `${file} imports ${target}`),
  )

  expect(files.length).toBeGreaterThan(0)
  expect(forbidden).toEqual([])
})
